//! `cargo xtask dist`: what is released, in target/dist: a tarball with an install script, a Debian package, a Python wheel, the packages
//! of the crates, what changed, and the checksums of all.

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::Outcome;
use xtask::cargo::{root, shipping_build, shipping_build_of_fleet};

use crate::tools::{DEB, done};
use crate::{package, python, version};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The libraries that the program may need: those of every Linux with the GNU C library.
const NEEDED: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];
/// The bytes that the program may have, and the one for fleets, which has the same in it and a network.
const LARGEST: u64 = 12 << 20;
const LARGEST_FLEET: u64 = 20 << 20;
const SHELLS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/foretell"),
    ("zsh", "share/zsh/vendor-completions/_foretell"),
    ("fish", "share/fish/vendor_completions.d/foretell.fish"),
];

pub(crate) fn run() -> Outcome {
    let dist = root().join("target/dist");
    let _ = fs::remove_dir_all(&dist);
    let foretell = shipping_build()?;
    judge(&foretell, LARGEST)?;
    let fleet = shipping_build_of_fleet()?;
    judge(&fleet, LARGEST_FLEET)?;
    let tree = dist.join(format!("foretell-{VERSION}-x86_64-linux-gnu"));
    stage(&foretell, &fleet, &tree)?;
    write(&dist.join("NOTES.md"), &version::notes()?)?;
    tarball(&dist, &tree)?;
    debian(&dist, &tree)?;
    fs::copy(python::wheel()?, dist.join(python::WHEEL)).map_err(|error| format!("the wheel: {error}"))?;
    for file in package::package(&root().join("target/packages"))? {
        let name = file.file_name().expect("a file of a package has a name");
        fs::copy(&file, dist.join(name)).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    fs::remove_dir_all(&tree).map_err(|error| format!("{}: {error}", tree.display()))?;
    checksums(&dist)
}

/// Whether a program is as small, and needs as little, as is promised.
fn judge(program: &Path, largest: u64) -> Outcome {
    let bytes = fs::metadata(program).map_err(|error| format!("{}: {error}", program.display()))?.len();
    println!("{} has {:.1} MB", program.display(), bytes as f64 / 1e6);
    if bytes > largest {
        return Err(format!("{} has {bytes} bytes, more than {largest}", program.display()));
    }
    let dynamic = output(Command::new("readelf").arg("--dynamic").arg(program))?;
    let libraries = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let names = libraries.filter_map(|line| line.split(['[', ']']).nth(1));
    match names.into_iter().find(|name| !NEEDED.contains(name)) {
        Some(other) => Err(format!("{} needs {other}, which not every system has", program.display())),
        None => Ok(()),
    }
}

/// The files as they are installed below a prefix.
fn stage(foretell: &Path, fleet: &Path, tree: &Path) -> Outcome {
    let man = tree.join("share/man/man1");
    for directory in ["bin", "include", "share/doc/foretell"] {
        create(&tree.join(directory))?;
    }
    create(&man)?;
    copy(foretell, &tree.join("bin/foretell"))?;
    // What makes `cargo foretell` work; cargo builds it with the other.
    copy(&foretell.with_file_name("cargo-foretell"), &tree.join("bin/cargo-foretell"))?;
    // What `foretell fleet` runs: it looks for it in its own directory.
    copy(fleet, &tree.join("bin/foretell-fleet"))?;
    copy(&root().join("include/foretell.h"), &tree.join("include/foretell.h"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root().join(file), &tree.join("share/doc/foretell").join(file))?;
    }
    done(Command::new(foretell).arg("man").arg(&man))?;
    for (shell, place) in SHELLS {
        let place = tree.join(place);
        create(place.parent().unwrap_or(tree))?;
        write(&place, &output(Command::new(foretell).args(["completions", shell]))?)?;
    }
    Ok(())
}

/// A tarball that installs itself; it is tried out.
fn tarball(dist: &Path, tree: &Path) -> Outcome {
    copy(&root().join("packaging/install.sh"), &tree.join("install.sh"))?;
    let name = tree.file_name().expect("the tree has a name").to_string_lossy().into_owned();
    let file = dist.join(format!("{name}.tar.gz"));
    let tar = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-czf"];
    done(Command::new("tar").args(tar).arg(&file).arg(&name).current_dir(dist))?;
    let tried = tempfile::tempdir().map_err(|error| error.to_string())?;
    done(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(tried.path()))?;
    let prefix = tried.path().join("prefix");
    done(Command::new(tried.path().join(&name).join("install.sh")).arg(&prefix))?;
    for installed in ["bin/foretell", "bin/foretell-fleet", "share/man/man1/foretell-hunt.1", SHELLS[0].1] {
        if !prefix.join(installed).is_file() {
            return Err(format!("install.sh did not install {installed}"));
        }
    }
    done(Command::new(prefix.join("bin/foretell")).args(["fleet", "status", "--help"]))
}

/// A Debian package without complaints of lintian. Its files are named in crates/foretell/Cargo.toml.
fn debian(dist: &Path, tree: &Path) -> Outcome {
    // Man pages and the changelog are compressed there, without the time in them.
    let staged = root().join("target/debian");
    let _ = fs::remove_dir_all(&staged);
    create(&staged)?;
    done(Command::new("cp").arg("-r").arg(tree.join("share")).arg(tree.join("include")).arg(&staged))?;
    for program in ["foretell", "cargo-foretell", "foretell-fleet"] {
        copy(&tree.join("bin").join(program), &staged.join(program))?;
    }
    copy(&root().join("CHANGELOG.md"), &staged.join("upstream-changelog"))?;
    // The page of `foretell cargo` is that of `cargo foretell`.
    let pages = staged.join("share/man/man1");
    copy(&pages.join("foretell-cargo.1"), &pages.join("cargo-foretell.1"))?;
    done(
        Command::new("sh")
            .arg("-c")
            .arg("gzip -9n share/man/man1/*.1 upstream-changelog")
            .current_dir(&staged),
    )?;
    let changes = format!(
        "foretell ({VERSION}-1) unstable; urgency=medium\n\n  * See changelog.gz in this directory.\n\n -- The Foretell contributors <foretell@example.org>  Mon, 16 Nov 2026 00:00:00 +0000\n"
    );
    write(&staged.join("changelog"), &changes)?;
    let file = dist.join(format!("foretell_{VERSION}-1_amd64.deb"));
    let options = ["--no-build", "--no-strip", "--package", "foretell", "--output"];
    done(DEB.command()?.args(options).arg(&file))?;
    done(
        Command::new("lintian")
            .args(["--fail-on", "error,warning", "--tag-display-limit", "0", "--allow-root"])
            .arg(&file),
    )
}

fn checksums(dist: &Path) -> Outcome {
    let mut names: Vec<String> = fs::read_dir(dist)
        .map_err(|error| format!("{}: {error}", dist.display()))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let sums = output(Command::new("sha256sum").args(&names).current_dir(dist))?;
    print!("{sums}");
    write(&dist.join("SHA256SUMS"), &sums)
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn create(directory: &Path) -> Outcome {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

fn write(path: &Path, content: &str) -> Outcome {
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}
