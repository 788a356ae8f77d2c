//! Mosquitto, started by a test on a free port, and clients of it.

use rustix::process::{Pid, Signal, kill_process};
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::link::Options;
use sealstone_mqtt::gateway::wire::{Connect, Properties, Publish, Qos, Version};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A broker of its own, which keeps its sessions in a folder.
pub(crate) struct Mosquitto {
    child: Option<Child>,
    config: PathBuf,
    pub(crate) port: u16,
}

impl Mosquitto {
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, "allow_anonymous true\n")
    }

    /// One that lets in who has a password.
    pub(crate) fn start_with_password(folder: &Path, user: &str, password: &str) -> Self {
        let file = folder.join("passwords");
        let mut command = Command::new("mosquitto_passwd");
        let made = command.args(["-b", "-c"]).arg(&file).args([user, password]).status().unwrap();
        assert!(made.success());
        Self::start_with(folder, &format!("allow_anonymous false\npassword_file {}\n", file.display()))
    }

    /// One with more lines for its listener.
    pub(crate) fn start_with(folder: &Path, more: &str) -> Self {
        let port = free_port();
        let kept = folder.join("mosquitto");
        fs::create_dir_all(&kept).unwrap();
        let config = folder.join("mosquitto.conf");
        let text = format!(
            "listener {port} 127.0.0.1\n{more}user root\npersistence true\n\
             persistence_location {}/\nmax_queued_messages 0\nlog_dest none\n",
            kept.display()
        );
        fs::write(&config, text).unwrap();
        let mut broker = Mosquitto { child: None, config, port };
        broker.up();
        broker
    }

    /// Starts it again, with what it kept.
    pub(crate) fn up(&mut self) {
        // Where Debian has it, which is not on everybody's path.
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("mosquitto");
        command.env("PATH", path);
        command.arg("-c").arg(&self.config).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("mosquitto is installed (apt-get install mosquitto)"));
        for _ in 0..400 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("mosquitto does not listen");
    }

    /// Asks it to end, which writes down what it keeps.
    pub(crate) fn down(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// How a client of a test connects; with a name it has a session that stays.
pub(crate) fn options(port: u16, version: Version, name: &str, stays: bool) -> Options {
    Options {
        address: format!("127.0.0.1:{port}"),
        tls: None,
        version,
        max_packet_bytes: 1 << 20,
        connect: Connect {
            client_id: name.into(),
            clean_start: !stays,
            keep_alive_s: 60,
            properties: Properties { session_expiry_s: stays.then_some(3600), ..Properties::default() },
            ..Connect::default()
        },
    }
}

pub(crate) fn client(port: u16, version: Version, name: &str) -> Client {
    Client::connect(&options(port, version, name, false)).unwrap().0
}

pub(crate) fn message(topic: &str, payload: &[u8]) -> Publish {
    Publish { qos: Qos::AtLeastOnce, topic: topic.into(), payload: payload.into(), ..Publish::default() }
}
