//! Reads some lines of a chain, as they stand. Whether they hold is for [`ChainFiles::verify`] to say.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;

use crate::error::Error;
use crate::verify::{ChainFiles, MAX_LINE};

/// Lines, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Each is an object; its number is `n`.
    pub lines: Vec<Value>,
    /// The number of the last of them, if others follow.
    pub next: Option<u64>,
}

impl ChainFiles {
    /// The first lines behind number `after`, at most so many; without it the last ones. What is no line is left out.
    /// Errors: `File`.
    ///
    /// ```
    /// use sealstone_audit::{Chain, ChainFiles, Event, Kind, Manner};
    /// use sealstone_jose::UnixSeconds;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // `key`: a `Key` as the example of the crate has one, and `public`, its public half; `place`: a directory.
    /// # struct InMemory(sealstone_mldsa::any::SigningKey, sealstone_jose::PublicKey);
    /// # impl sealstone_audit::Key for InMemory {
    /// #     fn kid(&self) -> &str {
    /// #         self.1.kid()
    /// #     }
    /// #     fn sign(&self, line: &[u8]) -> Result<Vec<u8>, sealstone_audit::Error> {
    /// #         let failed = |cause: sealstone_mldsa::Error| sealstone_audit::Error::Key { what: cause.to_string() };
    /// #         let context = sealstone_mldsa::Context::new(sealstone_audit::CONTEXT).map_err(failed)?;
    /// #         Ok(self.0.sign_deterministic(context, line).map_err(failed)?.encode().to_vec())
    /// #     }
    /// # }
    /// # let key = sealstone_mldsa::any::SigningKey::from_seed(sealstone_mldsa::Level::MlDsa44, &[7; 32]);
    /// # let public = sealstone_jose::PublicKey::from_public(sealstone_jose::Algorithm::MlDsa44, key.verifying_key().encode())?;
    /// # let key = std::sync::Arc::new(InMemory(key, public.clone()));
    /// # let place = &std::env::temp_dir().join(format!("sealstone-audit-3-{}", std::process::id()));
    /// # let now = UnixSeconds(1_800_000_000);
    /// # let (mut chain, _) = Chain::open(place, &["doors".to_owned()], key, 1 << 20, Manner::Lasting, now)?.ok_or("held")?;
    /// for door in ["north", "south", "west"] {
    ///     chain.append(&Event::new(Kind { name: "door.opened", warning: false }, now).with("door", door));
    /// }
    /// chain.seal("command", now)?;
    /// chain.settle()?;
    ///
    /// // Lines 2 and 3, and where to go on.
    /// let files = ChainFiles::of(&place.join("doors"))?.ok_or("no chain")?;
    /// let part = files.part(Some(1), 2)?;
    /// assert_eq!(part.lines[0]["door"], "north");
    /// assert_eq!(part.lines[1]["door"], "south");
    /// assert_eq!(part.next, Some(3));
    /// let rest = files.part(part.next, 100)?;
    /// assert_eq!((rest.lines.len(), rest.next), (2, None));
    /// # std::fs::remove_dir_all(place)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn part(&self, after: Option<u64>, most: usize) -> Result<Part, Error> {
        match after {
            Some(after) => self.behind(after, most),
            None => self.last(most),
        }
    }

    fn behind(&self, after: u64, most: usize) -> Result<Part, Error> {
        let mut part = Part::default();
        // The file in which the line stands, or the first one that is left.
        let mut from = 0;
        for (at, path) in self.files.iter().enumerate() {
            if first(path)?.is_some_and(|n| n <= after.saturating_add(1)) {
                from = at;
            }
        }
        for path in self.files.iter().skip(from) {
            let mut more = false;
            each(path, |n, line| {
                if n > after && part.lines.len() < most {
                    part.lines.push(line);
                } else if n > after {
                    more = true;
                }
                !more
            })?;
            if more {
                part.next = part.lines.last().and_then(|line| line["n"].as_u64());
                break;
            }
        }
        Ok(part)
    }

    fn last(&self, most: usize) -> Result<Part, Error> {
        let mut lines: VecDeque<Value> = VecDeque::new();
        for path in self.files.iter().rev() {
            let room = most.saturating_sub(lines.len());
            if room == 0 {
                break;
            }
            let mut here = VecDeque::new();
            each(path, |_, line| {
                here.push_back(line);
                if here.len() > room {
                    here.pop_front();
                }
                true
            })?;
            here.append(&mut lines);
            lines = here;
        }
        Ok(Part { lines: lines.into(), next: None })
    }
}

/// The number of a file's first line.
fn first(path: &Path) -> Result<Option<u64>, Error> {
    let mut number = None;
    each(path, |n, _| {
        number = Some(n);
        false
    })?;
    Ok(number)
}

/// Each whole line and its number, as long as more are wanted. A line that is being written is none yet.
fn each(path: &Path, mut take: impl FnMut(u64, Value) -> bool) -> Result<(), Error> {
    let failed = |cause: std::io::Error| Error::file(path, cause);
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            return Ok(());
        }
        if bytes.len() > MAX_LINE || bytes.last() != Some(&b'\n') {
            continue;
        }
        let Ok(line) = serde_json::from_slice::<Value>(&bytes) else { continue };
        if let Some(n) = line["n"].as_u64()
            && !take(n, line)
        {
            return Ok(());
        }
    }
}
