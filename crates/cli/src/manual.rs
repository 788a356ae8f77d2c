//! `sealstone completions` and `sealstone man`: from the same source as the help, so they cannot differ from it.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::Cli;
use crate::error::Error;
use crate::files::shown;
use crate::terminal::Terminal;

/// Options of `completions`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone completions bash > ~/.local/share/bash-completion/completions/sealstone
  sealstone completions zsh > ~/.zfunc/_sealstone
  sealstone completions fish > ~/.config/fish/completions/sealstone.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Options of `man`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone man | man -l -
  sealstone man --dir /usr/local/share/man/man1      one page for each command")]
pub(crate) struct Man {
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn completions(options: &Completions, terminal: &mut Terminal) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "sealstone", &mut script);
    terminal.bytes(&script)
}

pub(crate) fn man(options: &Man, terminal: &mut Terminal) -> Result<(), Error> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &options.dir else {
        let page = page(command).map_err(|cause| Error::file("standard output", "written", cause))?;
        return terminal.bytes(&page);
    };
    let count = write_pages(command, folder).map_err(|cause| Error::path(folder, "written", cause))?;
    terminal.line(format_args!("{count} pages in {}", shown(folder)))
}

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    // What follows the help has a better name here than the library's.
    Ok(String::from_utf8_lossy(&page).replace("\n.SH EXTRA\n", "\n.SH EXAMPLES\n").into_bytes())
}

/// Writes the page of a command and of those below it, and counts them.
fn write_pages(command: clap::Command, folder: &Path) -> io::Result<usize> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut count = 1;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help").cloned() {
        count += write_pages(below, folder)?;
    }
    std::fs::write(folder.join(format!("{name}.1")), page(command)?)?;
    Ok(count)
}
