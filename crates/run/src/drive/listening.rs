//! The sockets that processes listen on, as the kernel lists them.

use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::script::Destination;

/// A socket that somebody listens on.
struct Listening {
    inode: u64,
    at: Place,
}

enum Place {
    Internet(SocketAddr),
    /// A name in the file system; empty: none.
    Named(String),
}

/// What a client can connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Server {
    Internet(SocketAddr),
    Named(PathBuf),
}

/// Whether a process listens on a socket, of the internet or with a name in the file system.
pub(super) fn listens(process: u32) -> bool {
    let own = sockets_of(process);
    !own.is_empty() && all().any(|socket| own.contains(&socket.inode))
}

pub(super) fn is_listened_on(port: u16) -> bool {
    all().any(|socket| matches!(socket.at, Place::Internet(address) if address.port() == port))
}

/// Where a process listens for what was sent to a destination in another run: never anywhere else. A server whose port is another one in each
/// run is found if it has only that.
pub(super) fn find(process: u32, wanted: &Destination) -> Option<Server> {
    let own = sockets_of(process);
    let mut sockets = all().filter(|socket| own.contains(&socket.inode));
    match wanted {
        Destination::Port(port) => {
            let internet = |socket: Listening| match socket.at {
                Place::Internet(address) => Some(address),
                Place::Named(_) => None,
            };
            let addresses: Vec<SocketAddr> = sockets.filter_map(internet).collect();
            let exact = addresses.iter().find(|address| address.port() == *port);
            let first = addresses.first()?;
            let is_only = || addresses.iter().all(|address| address.port() == first.port());
            let address = exact.or_else(|| Some(first).filter(|_| is_only()))?;
            Some(Server::Internet(reachable(*address)))
        }
        Destination::Named(name) => {
            let is_it = |socket: &Listening| matches!(&socket.at, Place::Named(at) if at.as_bytes() == name);
            sockets.find(is_it)?;
            let path = Path::new(OsStr::from_bytes(name));
            // As the program named it, from where it is.
            Some(Server::Named(PathBuf::from(format!("/proc/{process}/cwd")).join(path)))
        }
    }
}

/// Who listens everywhere is reached here.
fn reachable(address: SocketAddr) -> SocketAddr {
    let here = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(here, address.port())
}

fn sockets_of(process: u32) -> Vec<u64> {
    let files = fs::read_dir(format!("/proc/{process}/fd"));
    let links = files.into_iter().flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |link: PathBuf| {
        let link = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        link.parse::<u64>().ok()
    };
    links.filter_map(inode).collect()
}

/// All of them.
fn all() -> impl Iterator<Item = Listening> {
    let lines = |file: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let internet = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().flat_map(lines).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let address = address(words.get(1)?)?;
        let inode = words.get(9)?.parse().ok()?;
        // State 0A is LISTEN.
        (*words.get(3)? == "0A").then_some(Listening { inode, at: Place::Internet(address) })
    });
    // The flag 0x10000 says that it accepts connections.
    let named = lines("/proc/net/unix").into_iter().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(words.get(3)?, 16).ok()?;
        let inode = words.get(6)?.parse().ok()?;
        let name = words.get(7).copied().unwrap_or_default().to_owned();
        (flags & 0x1_0000 != 0).then_some(Listening { inode, at: Place::Named(name) })
    });
    internet.chain(named)
}

/// An address as the kernel lists it: words of the machine's order, and a port, in hexadecimal.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(host.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match host.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    #[test]
    fn a_listening_socket_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_listened_on(port) && listens(std::process::id()));
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        assert!(!listens(child.id()));
        assert_eq!(find(child.id(), &Destination::Port(port)), None, "it is not its own");
        child.kill().unwrap();
        child.wait().unwrap();
        drop(listener);
        assert!(!is_listened_on(port));
    }

    #[test]
    fn a_server_is_found_where_it_listens() {
        let process = std::process::id();
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let here = SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(find(process, &Destination::Port(port)), Some(Server::Internet(here)));
        if let Ok(listener) = TcpListener::bind("[::1]:0") {
            let address = listener.local_addr().unwrap();
            assert_eq!(find(process, &Destination::Port(address.port())), Some(Server::Internet(address)));
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let name = Destination::Named(path.as_os_str().as_bytes().to_vec());
        assert_eq!(find(process, &name), Some(Server::Named(path)));
        assert_eq!(find(process, &Destination::Named(b"/run/another".to_vec())), None);
    }

    #[test]
    fn addresses_are_read_as_the_kernel_lists_them() {
        assert_eq!(address("0100007F:1F90"), Some(SocketAddr::from(([127, 0, 0, 1], 8080))));
        let six = address("00000000000000000000000001000000:0050").unwrap();
        assert_eq!(six, SocketAddr::from((Ipv6Addr::LOCALHOST, 80)));
        for text in ["", ":", "0100007F", "xx00007F:1F90", "0100007F0:1F90", "éééé:1F90"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
