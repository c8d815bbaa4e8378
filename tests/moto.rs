//! Push and pull through an S3 server of others: moto, from PyPI. It checks what our own server in tests/sharing.rs cannot: that
//! what we send is S3.

mod common;

use common::{Finished, Project};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server; it ends with the test.
struct Moto(Child, u16);

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Moto {
    fn start(program: &str) -> Moto {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Command::new(program);
        server.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let moto = Moto(server.spawn().unwrap(), port);
        let start = Instant::now();
        while moto.put_bucket().is_err() {
            assert!(start.elapsed() < Duration::from_secs(120), "moto does not answer");
            std::thread::sleep(Duration::from_millis(200));
        }
        moto
    }

    fn put_bucket(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.1))?;
        write!(stream, "PUT /bucket HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
        Ok(())
    }

    fn on(&self, p: &Project, line: &str) -> Finished {
        let mut command = p.command(line);
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.1)).env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret").env("NO_PROXY", "127.0.0.1");
        command.output().unwrap().into()
    }

    #[track_caller]
    fn ok(&self, p: &Project, line: &str) -> String {
        let said = self.on(p, line);
        assert_eq!(said.code, 0, "repro {line}\n{}{}", said.out, said.err);
        said.out
    }
}

/// A copy of this project.
fn clone() -> Project {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let p = Project::new(&std::fs::read_to_string(root.join("pipeline.yaml")).unwrap());
    let copied = Command::new("cp").arg("-r").arg(root.join("data")).arg(p.path()).status().unwrap();
    assert!(copied.success());
    p
}

#[test]
fn the_smoke_results_travel_through_moto() {
    let Ok(program) = std::env::var("MOTO_SERVER") else {
        println!("skipped: MOTO_SERVER does not name the program moto_server (pip install 'moto[server,s3]')");
        return;
    };
    let moto = Moto::start(&program);
    let (a, b) = (clone(), clone());
    a.ok("run all --profile smoke --offline");
    let view = "--profile smoke --offline";
    let pushed = moto.ok(&a, &format!("push s3://bucket/deep/prefix {view}"));
    println!("{pushed}");
    assert!(moto.ok(&a, &format!("push s3://bucket/deep/prefix {view}")).contains("(1 request, "));
    println!("{}", moto.ok(&b, &format!("pull s3://bucket/deep/prefix {view}")));
    assert!(b.ok(&format!("run all {view}")).starts_with("nothing to do"));
    assert!(b.ok(&format!("verify {view}")).contains("verified"));
    let lock = |p: &Project| std::fs::read(p.path().join("repro.smoke.lock")).unwrap();
    assert!(lock(&a) == lock(&b));
    let nowhere = moto.on(&a, &format!("push s3://other/x {view}"));
    assert_eq!(nowhere.code, 3, "{}", nowhere.err);
    assert!(nowhere.err.contains("there is no bucket `other`"), "{}", nowhere.err);
}
