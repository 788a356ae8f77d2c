//! Pages of docs/ that do what they say: their commands are run as they stand, and what comes out must be what the page shows.
//!
//! The rule, for whoever writes such a page:
//!
//! - A fence ```` ```sh ```` is given to `sh`, with `sealstone` on the PATH. All fences of a page run in their order, in one empty
//!   directory; each in a shell of its own, so files stay and variables do not. It must end well.
//! - A fence ```` ```text ```` behind it, with nothing between but blank lines, is what must come out: standard output and standard
//!   error as a terminal mixes them, then the exit code as `[1]` if it is not 0. `[..]` stands for any text within a line, `...` on a
//!   line of its own for any lines. Without such a fence the output is nobody's business.
//! - A fence ```` ```sh root ```` needs root, and disks in files that can be mounted. Where there is none it is left out, aloud, with
//!   what must come out of it.
//! - A line of a table runs, too: each `` `sealstone ...` `` in it is given to `sh` in the same directory and must end well (`\|` is
//!   a pipe).
//! - What cannot run in a test (another machine, a network, a terminal) stands in a fence of another kind, such as
//!   ```` ```sh not here ````. Tell the reader why.
//!
//! Add a page to the list below, and it is tested: `cargo test -p sealstone-cli --test it pages::NAME`.
//! `PAGES=write` in front writes what came out into the page where it differs, to be read before it is kept.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use crate::transcript::{Shell, matches};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// One test for each page. `from_jwt_pq` is docs/from-jwt-pq.md.
macro_rules! pages {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(&stringify!($name).replace('_', "-"));
        })*
    };
}

pages! {
    certificates
    cms
    from_jwt_pq
    jose
    tree_tutorial
}

fn run(name: &str) {
    let path = format!("{DOCS}/{name}.md");
    let page = fs::read_to_string(&path).unwrap();
    let shell = Shell::empty();
    let may_mount = page.contains(ROOT) && mounts(&shell);
    let (said, wrong, ran) = follow(&page, &shell, may_mount);
    // What a page that broke off left mounted.
    shell.run(
        r#"awk -v here="$PWD/" 'index($2, here) == 1 { print $2 }' /proc/mounts | xargs -r -n 1 umount"#,
    );
    if std::env::var_os("PAGES").is_some_and(|mode| mode == "write") {
        fs::write(&path, said).unwrap();
    }
    assert!(ran > 0, "{name}.md has no commands");
    assert!(wrong.is_empty(), "{name}.md: not as written{wrong}");
}

/// The page as it would be true, what was not, and how many commands were run.
fn follow(page: &str, shell: &Shell, may_mount: bool) -> (String, String, usize) {
    let (mut said, mut wrong, mut ran) = (String::new(), String::new(), 0);
    for piece in pieces(page) {
        match piece {
            Piece::Prose(line) => {
                for command in in_table(&line) {
                    ran += 1;
                    let found = shell.run(&format!("exec 2>&1\n{command}"));
                    if ended_badly(&found) {
                        writeln!(wrong, "\n{command}\n--- found\n{}", found.join("\n")).unwrap();
                    }
                }
                writeln!(said, "{line}").unwrap();
            }
            Piece::Command { fence, script, between, expected } if fence == ROOT && !may_mount => {
                let expected =
                    expected.map(|lines| lines.iter().map(|line| format!("{line}\n")).collect::<String>());
                let shown = expected.map_or(String::new(), |text| format!("{between}```text\n{text}```\n"));
                write!(said, "{fence}\n{script}```\n{shown}").unwrap();
            }
            Piece::Command { fence, script, between, expected } => {
                ran += 1;
                let found = shell.run(&format!("exec 2>&1\n{script}"));
                let good = match &expected {
                    Some(expected) => matches(expected, &found),
                    None => !ended_badly(&found),
                };
                write!(said, "{fence}\n{script}```\n").unwrap();
                if !good {
                    let expected = expected.as_ref().map_or("a good end".into(), |lines| lines.join("\n"));
                    let found = found.join("\n");
                    writeln!(wrong, "\n{script}--- expected\n{expected}\n--- found\n{found}").unwrap();
                }
                if let Some(expected) = expected {
                    let lines = if good { expected } else { found };
                    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                    write!(said, "{between}```text\n{text}```\n").unwrap();
                }
            }
        }
    }
    (said, wrong, ran)
}

/// A fence of commands for root.
const ROOT: &str = "```sh root";

/// Whether a disk in a file can be mounted here, which is said aloud if not.
fn mounts(shell: &Shell) -> bool {
    let tried = shell.run(
        "mkdir tmp/try && truncate -s 8M tmp/try.img && mke2fs -q -t ext4 tmp/try.img && mount -o loop tmp/try.img tmp/try && umount tmp/try",
    );
    if ended_badly(&tried) {
        // Past what the runner of tests catches and does not show.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: what needs root and a disk in a file: {}",
            tried.join("; ")
        );
        return false;
    }
    true
}

/// Whether the last line is an exit code.
fn ended_badly(found: &[String]) -> bool {
    let code = found.last().and_then(|last| last.strip_prefix('[')?.strip_suffix(']'));
    code.is_some_and(|code| code == "killed" || code.parse::<u8>().is_ok())
}

/// A page is prose, line by line, and commands with what must come out of them.
enum Piece {
    Prose(String),
    Command { fence: String, script: String, between: String, expected: Option<Vec<String>> },
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("```") {
            pieces.push(Piece::Prose(line.to_owned()));
            continue;
        }
        let inside: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        if line != "```sh" && line != ROOT {
            // Not a table, whatever it looks like.
            let block =
                format!("{line}\n{}```", inside.iter().map(|line| format!("{line}\n")).collect::<String>());
            pieces.push(Piece::Prose(block));
            continue;
        }
        let script = inside.iter().map(|line| format!("{line}\n")).collect();
        let mut between = String::new();
        while lines.peek().is_some_and(|line| line.is_empty()) {
            lines.next();
            between.push('\n');
        }
        let expected = lines.next_if(|line| *line == "```text").map(|_| {
            let text = lines.by_ref().take_while(|line| !line.starts_with("```"));
            text.map(str::to_owned).collect::<Vec<_>>()
        });
        let blank = if expected.is_none() { between.len() } else { 0 };
        pieces.push(Piece::Command { fence: line.to_owned(), script, between, expected });
        pieces.extend((0..blank).map(|_| Piece::Prose(String::new())));
    }
    pieces
}

/// The commands in a line of a table.
fn in_table(line: &str) -> Vec<String> {
    if !line.starts_with('|') {
        return Vec::new();
    }
    let spans = line.split('`').skip(1).step_by(2);
    spans.filter(|span| span.starts_with("sealstone ")).map(|span| span.replace("\\|", "|")).collect()
}

#[test]
fn the_follower_of_pages_sees_what_is_not_true() {
    let shell = Shell::empty();
    let page = "\
Prose with `sealstone nonsense` runs nothing.

```sh
echo one; echo two >&2; exit 3
```

```text
one
two
[3]
```

```sh
ls -A
```

```text
tmp
```

| a table | `sealstone --version \\| cat > version` |

```text
| no table | `sealstone nonsense` |
```

```sh
cat version
```

```text
sealstone [..]
```
";
    let (said, wrong, ran) = follow(page, &shell, true);
    assert_eq!((said.as_str(), wrong.as_str(), ran), (page, "", 4));

    let lie = page.replace("one\ntwo\n[3]", "one\n[3]");
    let (said, wrong, _) = follow(&lie, &shell, true);
    assert_eq!(said.replace("tmp\nversion", "tmp"), page, "what came out takes the lie's place");
    assert!(wrong.contains("--- expected\none\n[3]\n--- found\none\ntwo\n[3]"), "{wrong}");

    for failing in ["```sh\nfalse\n```\n", "| `sealstone nonsense` |\n"] {
        let (said, wrong, ran) = follow(failing, &shell, true);
        assert!(!wrong.is_empty(), "{failing}");
        assert_eq!((said.as_str(), ran), (failing, 1));
    }

    let for_root = "```sh root\nexit 4\n```\n\n```text\nnothing of it\n```\n";
    let (said, wrong, ran) = follow(for_root, &shell, false);
    assert_eq!((said.as_str(), wrong.as_str(), ran), (for_root, "", 0), "left as it is");
    let (said, wrong, _) = follow(for_root, &shell, true);
    assert!(said.contains("[4]") && !wrong.is_empty(), "{said}");
}
