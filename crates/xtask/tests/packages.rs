//! Crates that are published have what a stranger needs, and depend on nothing that is not published.

use std::path::Path;

use serde_json::Value;
use xtask::cargo::{cargo_output, root};

fn packages() -> Vec<Value> {
    let metadata = cargo_output(&["metadata", "--format-version", "1", "--no-deps", "--offline"]).unwrap();
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

#[test]
fn published_crates_are_complete() {
    let packages = packages();
    let published: Vec<&Value> = packages.iter().filter(|package| is_published(package)).collect();
    assert!(published.iter().any(|package| package["name"] == "foretell"));
    let names: Vec<&str> = published.iter().filter_map(|package| package["name"].as_str()).collect();
    for package in &published {
        let name = package["name"].as_str().unwrap();
        for field in ["description", "license", "repository", "rust_version"] {
            assert!(package[field].is_string(), "{name} has no {field}");
        }
        for field in ["keywords", "categories"] {
            assert!(package[field].as_array().is_some_and(|list| !list.is_empty()), "{name} has no {field}");
        }
        let directory = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(directory.join(file).is_file(), "{name} has no {file}");
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let (on, is_for_tests) = (dependency["name"].as_str().unwrap(), dependency["kind"] == "dev");
            if dependency["path"].is_null() {
                continue;
            }
            let has_version = dependency["req"] != "*";
            assert!(
                is_for_tests && (!has_version || names.contains(&on)) || has_version && names.contains(&on),
                "{name} depends on {on}, which is not published, or has no version in Cargo.toml"
            );
        }
    }
}

#[test]
fn versions_agree() {
    let packages = packages();
    let version =
        packages.iter().find(|package| package["name"] == "foretell").unwrap()["version"].as_str().unwrap();
    for dependency in packages.iter().flat_map(|package| package["dependencies"].as_array().unwrap()) {
        let required = dependency["req"].as_str().unwrap();
        let is_ours = !dependency["path"].is_null() && required != "*";
        assert!(!is_ours || required == format!("^{version}"), "{}: {required}", dependency["name"]);
    }
    let python = std::fs::read_to_string(root().join("crates/python/Cargo.toml")).unwrap();
    assert!(python.contains(&format!("version = \"{version}\"")), "crates/python has another version");
    let changelog = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    assert!(changelog.contains(&format!("\n## {version}")), "CHANGELOG.md has no section for {version}");
}
