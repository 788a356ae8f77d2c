//! The disk is full, cannot be written to, or fails: nothing is granted that could not be written down, the operator is
//! told why, and when the disk is well again the same server goes on as if nothing had been.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::real::forms::{self, Form};
use crate::real::{House, Server, sealstone};

/// What ends a trouble when it is dropped.
type Trouble = Box<dyn std::any::Any>;

/// A house whose server keeps no audit log: with one, a full disk refuses everything, and not what needs the store alone.
async fn unaudited() -> House {
    let house = House::build().await;
    let mut config = fs::OpenOptions::new().append(true).open(house.path("sealstone.toml")).unwrap();
    config.write_all(b"[audit]\nenabled = false\n").unwrap();
    house
}

async fn outage(house: &House, server: &mut Server, begin: impl FnOnce(&Server) -> Trouble) {
    let wire = server.wire().await;
    let family = async || {
        let code = wire.code(&house.cookie).await.unwrap().unwrap();
        wire.post(forms::redeem(&code)).await.unwrap().member("refresh_token").unwrap()
    };
    let (kept, ended) = (family().await, family().await);
    let code = wire.code(&house.cookie).await.unwrap().unwrap();
    let answer = wire.post(forms::client_credentials(&house.service)).await.unwrap();
    let token = answer.member("access_token").unwrap();
    let revoke = forms::revoke(&house.service, &token);
    let once = [forms::redeem(&code), house.by_client_assertion(), house.by_grant_assertion()];
    let needs_the_disk: Vec<Form> = once
        .iter()
        .cloned()
        .chain([forms::refresh(&kept), forms::revoke_of_shop(&ended), revoke.clone()])
        .collect();

    let trouble = begin(server);
    for _ in 0..3 {
        for form in &needs_the_disk {
            let answer = wire.post(form.clone()).await.unwrap();
            assert_eq!(answer.status, 503, "{form:?}: {}", answer.text());
            assert_eq!(answer.member("error").as_deref(), Some("temporarily_unavailable"));
            assert!(answer.json()["access_token"].is_null() && !answer.header("retry-after").is_empty());
        }
        assert_eq!(
            wire.code(&house.cookie).await.unwrap(),
            None,
            "a code that could not be written is not issued"
        );
        // What writes nothing goes on.
        let answer = wire.post(forms::client_credentials(&house.service)).await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let answer = wire.post(forms::introspect(&house.service, &token)).await.unwrap();
        assert_eq!(answer.json()["active"], true, "it is not revoked, and nobody was told that it is");
    }
    let said = server.errors();
    let line =
        said.iter().find(|line| line.contains("store unavailable")).unwrap_or_else(|| panic!("{said:?}"));
    assert!(line.contains("hint=") && line.contains("the free space"), "{line}");
    drop(trouble);

    for form in &needs_the_disk {
        let answer = wire.post(form.clone()).await.unwrap();
        assert_eq!(answer.status, 200, "{form:?}: {}", answer.text());
    }
    assert!(wire.code(&house.cookie).await.unwrap().is_some());
    let gone = async |server: &Server| {
        let wire = server.wire().await;
        for form in once.iter().skip(1).chain([&forms::refresh(&ended), &once[0]]) {
            assert_ne!(wire.post(form.clone()).await.unwrap().status, 200, "{form:?} a second time");
        }
        let answer = wire.post(forms::introspect(&house.service, &token)).await.unwrap();
        assert_eq!(answer.json()["active"], false, "it is revoked");
    };
    gone(server).await;
    server.kill();
    let again = house.serve("sealstone.toml");
    gone(&again).await;
}

/// A file may not grow past its first page: for the log of the store the disk is full. Needs no right that a user lacks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_and_recovers() {
    let house = unaudited().await;
    // The signal that comes with the error is not asked for.
    let mut shell = Command::new("sh");
    let program = sealstone(house.directory.path()).get_program().to_owned();
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" serve --config sealstone.toml"]).arg(program);
    shell.current_dir(house.directory.path()).env("TMPDIR", house.directory.path()).stdin(Stdio::null());
    let mut server = Server::start(shell, &house.data_of("sealstone.toml"));
    let limit = |server: u32, bytes: &str| {
        let set = Command::new("prlimit")
            .args(["--pid", &server.to_string(), &format!("--fsize={bytes}:")])
            .status();
        assert!(set.unwrap().success());
    };
    struct Limited<F: Fn(u32, &str)>(u32, F);
    impl<F: Fn(u32, &str)> Drop for Limited<F> {
        fn drop(&mut self) {
            (self.1)(self.0, "unlimited");
        }
    }
    outage(&house, &mut server, |server| {
        limit(server.id(), "4096");
        Box::new(Limited(server.id(), limit))
    })
    .await;
}

/// A file system of its own, unmounted when the value is dropped; `None` without the right to mount.
struct Mounted(PathBuf);

impl Mounted {
    fn over(folder: PathBuf, options: &str) -> Option<Self> {
        let kept = folder.with_extension("kept");
        fs::rename(&folder, &kept).unwrap();
        fs::create_dir(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&folder);
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !mounted {
            return None;
        }
        let filled = Command::new("cp").arg("-a").arg(kept.join(".")).arg(&folder).status().unwrap();
        assert!(filled.success());
        Some(Self(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The same on a small file system that is filled to its last byte; as root, where that is not forbidden.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_system_without_a_free_block_refuses_and_recovers() {
    let house = unaudited().await;
    let data = house.data_of("sealstone.toml");
    let Some(_mounted) = Mounted::over(data.clone(), "size=2m,mode=0700") else {
        eprintln!("skipped: mounting a file system is not allowed here");
        return;
    };
    let mut server = house.serve("sealstone.toml");
    outage(&house, &mut server, |_| {
        struct Ballast(PathBuf);
        impl Drop for Ballast {
            fn drop(&mut self) {
                fs::remove_file(&self.0).unwrap();
            }
        }
        let path = data.join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        // To the last block, and then to the last byte of it.
        for size in [4096, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        // The log has room of its own until it is as long as it was: that is used up first.
        Box::new(Ballast(path))
    })
    .await;
}

/// Every write of the server's answered with an error of the system, by a tracer; `None` where nothing can be traced.
struct Traced(Child);

impl Traced {
    fn answer(server: &Server, calls: &str, error: &str) -> Option<Self> {
        let mut strace = Command::new("strace");
        let inject = format!("inject={calls}:error={error}");
        strace.args(["-f", "-o", "/dev/null", "-e", &format!("trace={calls}"), "-e", &inject]);
        strace.args(["-p", &server.id().to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut traced = Self(strace.stderr(Stdio::piped()).spawn().ok()?);
        let mut lines = BufReader::new(traced.0.stderr.take()?).lines().map_while(Result::ok);
        if !lines.any(|line| line.contains("attached")) {
            return None;
        }
        std::thread::spawn(move || lines.for_each(drop));
        Some(traced)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        // It lets go of the server at this signal.
        let _ = kill_process(Pid::from_child(&self.0), Signal::INT);
        let _ = self.0.wait();
    }
}

async fn with_errors(calls: &str, error: &str) {
    let house = unaudited().await;
    let mut server = house.serve("sealstone.toml");
    if Traced::answer(&server, "ftruncate", "EIO").is_none() {
        eprintln!("skipped: strace is not installed, or tracing is not allowed here");
        return;
    }
    outage(&house, &mut server, |server| Box::new(Traced::answer(server, calls, error).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_disk_refuses_and_recovers() {
    with_errors("pwrite64,ftruncate", "EROFS").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_keeps_nothing_refuses_and_recovers() {
    with_errors("fsync,fdatasync", "EIO").await;
}
