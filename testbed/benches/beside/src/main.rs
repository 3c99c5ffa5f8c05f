//! Hearth's engine beside others, in one process and one run: its store beside etcd, its turns beside kube-runtime's,
//! and itself beside itself as objects grow. `testbed/benches/engine` builds and starts it.
//!
//! Machines are noisy, so both sides of a comparison go in turns, and what counts are the ratios.

use clap::Parser;

mod options;
mod lamp;
mod sample;
mod table;
mod writes;
mod turns;
mod growth;

use options::{Options, Part};

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if let Some(measure) = &options.measure {
        return growth::measure(measure, options.objects);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut rows = Vec::new();
    if options.asks_for(Part::Writes) {
        rows.extend(runtime.block_on(writes::compare(&options))?);
    }
    if options.asks_for(Part::Turns) {
        rows.extend(runtime.block_on(turns::compare(&options))?);
    }
    table::print(&rows)?;
    let grown = if options.asks_for(Part::Growth) { growth::grow(&options)? } else { Vec::new() };
    growth::print(&grown)?;
    options.json.as_deref().map_or(Ok(()), |file| table::save(file, &rows, &grown))
}
