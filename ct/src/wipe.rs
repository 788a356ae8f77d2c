pub fn run(_: usize) -> Result<(), String> {
    Ok(())
}
