//! Hillslope diffusion over a real elevation model, on any number of PEs: the Rust form of
//! `examples/python/landscape.py`, with the same scheme, names and order of arithmetic, so that both print
//! the same fingerprint. The map comes from a file that `landscape.py --export FILE` writes.
//!
//! ```text
//! cargo build --release -p nvshmemrs --example landscape
//! nvshmemrs-run -n 4 -- target/release/examples/landscape FILE [STEPS]
//! target/release/examples/landscape FILE [STEPS]                         (one PE, no launcher)
//! ```
//!
//! The rows of the map are dealt over the PEs. Each PE keeps its block and one halo row above and below it on
//! the symmetric heap, twice: step s reads `grid[(s - 1) % 2]` and writes `grid[s % 2]`. After step s a PE
//! puts its first and last row into the halo rows of its neighbours' `grid[s % 2]`, together with a signal
//! that carries s. Before step s it waits until the signals of both neighbours have reached s - 1.
//!
//! Why no neighbour overwrites a halo row that is still being read, without any barrier: I read the halo rows
//! of `grid[s % 2]` during my step s + 1. A neighbour writes them again after its step s + 2. It begins that
//! step only when my signal has reached s + 1, and I send s + 1 when my step s + 1 is done. So two grids are
//! enough, and neighbours are never more than one step apart. A signal may therefore already say s when
//! s - 1 is awaited, which is why the wait asks for "at least".
//!
//! Safe Rust gives no references to memory that peers write, and with NVSHMEMRS_MEMORY=device it is a GPU's. The
//! steps therefore work on vectors; only the halo rows are read from the symmetric grids while they run, and
//! the block is copied in and out once.

use nvshmemrs::{Cmp, Op, Runtime, SignalOp, SymArray, Team};
use std::error::Error;
use std::io::Read;
use std::process::ExitCode;
use std::time::Instant;

/// Diffusivity in m2 per year.
const KAPPA: f64 = 0.01;
const STEPS: usize = 2000;
/// Part of the longest stable time step: small, for accuracy in time.
const FRACTION: f64 = 0.05;
/// Steps between two residuals.
const RESIDUAL_EVERY: usize = 50;
/// Largest difference from the single-process run, in metres.
const LIMIT: f64 = 1e-12;
/// Rows, steps, halo bytes, seconds computing, sending and waiting.
const COLUMNS: usize = 6;

/// An elevation model: row 0 is the northernmost, elevations and spacings are in metres.
struct Dem {
    rows: usize,
    cols: usize,
    dx: f64,
    dy: f64,
    z: Vec<f64>,
}

/// Reads a file of `landscape.py --export`.
fn load_dem(path: &str) -> Result<Dem, String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|error| format!("{path}: {error}"))?;
    let mut words = bytes
        .chunks_exact(8)
        .map(|word| <[u8; 8]>::try_from(word).unwrap_or_default());
    let mut header = || {
        words
            .next()
            .ok_or(format!("{path} is not a file of `landscape.py --export`"))
    };
    let (rows, cols) = (i64::from_le_bytes(header()?), i64::from_le_bytes(header()?));
    let (dx, dy) = (f64::from_le_bytes(header()?), f64::from_le_bytes(header()?));
    let size = 1..=1 << 20;
    if !(size.contains(&rows) && size.contains(&cols) && dx > 0.0 && dy > 0.0) {
        return Err(format!("{path} is not a file of `landscape.py --export`"));
    }
    let (rows, cols) = (rows as usize, cols as usize);
    let z: Vec<f64> = words.take(rows * cols).map(f64::from_le_bytes).collect();
    if z.len() < rows * cols {
        return Err(format!("{path} ends before its {rows} x {cols} elevations"));
    }
    Ok(Dem {
        rows,
        cols,
        dx,
        dy,
        z,
    })
}

/// The first row and the number of rows of a PE; the first PEs take one row more if need be.
fn deal(rows: usize, n_pes: i32, pe: i32) -> (usize, usize) {
    let (n_pes, pe) = (n_pes as usize, pe as usize);
    let (base, extra) = (rows / n_pes, rows % n_pes);
    (pe * base + pe.min(extra), base + usize::from(pe < extra))
}

/// The time step in years, and kappa * dt / dx^2 and kappa * dt / dy^2.
fn coefficients(kappa: f64, dx: f64, dy: f64) -> (f64, f64, f64) {
    let dt = FRACTION / (2.0 * kappa * (1.0 / (dx * dx) + 1.0 / (dy * dy)));
    (dt, kappa * dt / (dx * dx), kappa * dt / (dy * dy))
}

/// One step: all rows and columns of `new` but the outermost ones, from `z`. `change` is scratch for one
/// row. Gives the largest |change| if `compare`, else 0.
fn diffuse(
    z: &[f64],
    new: &mut [f64],
    width: usize,
    (cx, cy): (f64, f64),
    change: &mut [f64],
    compare: bool,
) -> f64 {
    let mut largest = 0.0_f64;
    let inner = width - 2;
    let count = z.len() / width - 2;
    for i in 1..=count {
        let north = &z[(i - 1) * width + 1..][..inner];
        let south = &z[(i + 1) * width + 1..][..inner];
        let row = &z[i * width + 1..][..inner];
        let west = &z[i * width..][..inner];
        let east = &z[i * width + 2..][..inner];
        let out = &mut new[i * width + 1..][..inner];
        let change = &mut change[..inner];
        for j in 0..inner {
            let along = (west[j] + east[j]) - 2.0 * row[j];
            let across = (north[j] + south[j]) - 2.0 * row[j];
            change[j] = cx * along + cy * across;
            out[j] = row[j] + change[j];
        }
        if compare {
            largest = change.iter().fold(largest, |most, c| most.max(c.abs()));
        }
    }
    largest
}

/// The same diffusion in one process, written independently of `diffuse`: no halo, indices stop at the edge.
fn single_process(dem: &Dem, steps: usize, (cx, cy): (f64, f64)) -> Vec<f64> {
    let (rows, cols) = (dem.rows, dem.cols);
    let mut field = dem.z.clone();
    let mut next = vec![0.0; rows * cols];
    for _ in 0..steps {
        for i in 0..rows {
            let (up, down) = (i.saturating_sub(1), (i + 1).min(rows - 1));
            for j in 0..cols {
                let (left, right) = (j.saturating_sub(1), (j + 1).min(cols - 1));
                let z = field[i * cols + j];
                let along = (field[i * cols + left] + field[i * cols + right]) - 2.0 * z;
                let across = (field[up * cols + j] + field[down * cols + j]) - 2.0 * z;
                next[i * cols + j] = z + (cx * along + cy * across);
            }
        }
        std::mem::swap(&mut field, &mut next);
    }
    field
}

/// The sum of the elevations' bit patterns modulo 2^64: equal fields have equal fingerprints.
fn fingerprint(z: &[f64]) -> u64 {
    z.iter().fold(0, |sum, v| sum.wrapping_add(v.to_bits()))
}

fn mean(z: &[f64]) -> f64 {
    z.iter().sum::<f64>() / z.len() as f64
}

/// Runs all steps on this PE's block of a map of `rows` rows. Collective over all PEs.
///
/// Returns the last residual and this PE's share of the work.
fn simulate(
    rt: &Runtime,
    grid: &[SymArray<f64>; 2],
    rows: usize,
    width: usize,
    steps: usize,
    coefficients: (f64, f64),
) -> nvshmemrs::Result<(f64, [f64; COLUMNS])> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let (north, south) = (me - 1, me + 1);
    let count = deal(rows, n, me).1;
    let bottom = count + 1; // this PE's lower halo row
    let bottom_of_north = if north >= 0 {
        deal(rows, n, north).1 + 1
    } else {
        0
    };
    let row = |i: usize| i * width..(i + 1) * width;

    let from_north = rt.array::<u64>(1)?;
    let from_south = rt.array::<u64>(1)?;
    let residual = rt.array::<f64>(1)?;
    rt.barrier_all()?; // blocks are dealt, and the signals, as all new arrays, are 0 everywhere

    let mut field = [
        vec![0.0; (count + 2) * width],
        vec![0.0; (count + 2) * width],
    ];
    grid[0].read(0, &mut field[0])?;
    let mut change = vec![0.0; width];
    let (mut computing, mut sending, mut waiting) = (0.0, 0.0, 0.0);
    let mut halo_bytes = 0;
    let mut tenths = 0;
    for step in 1..=steps {
        let (z_at, new_at) = ((step - 1) % 2, step % 2);
        let [a, b] = &mut field;
        let (z, new) = if z_at == 0 { (a, b) } else { (b, a) };
        let compare = step % RESIDUAL_EVERY == 0 || step == steps;

        let t0 = Instant::now();
        if north >= 0 {
            rt.signal_wait(from_north.at(0)?, Cmp::Ge, step as u64 - 1)?;
        }
        if south < n {
            rt.signal_wait(from_south.at(0)?, Cmp::Ge, step as u64 - 1)?;
        }

        let t1 = Instant::now();
        if north >= 0 {
            grid[z_at].read(0, &mut z[row(0)])?;
        }
        if south < n {
            grid[z_at].read(bottom * width, &mut z[row(bottom)])?;
        }
        let largest = diffuse(z, new, width, coefficients, &mut change, compare);
        for line in new.chunks_exact_mut(width) {
            line[0] = line[1]; // zero flux to the west and east
            line[width - 1] = line[width - 2];
        }
        if north < 0 {
            new.copy_within(row(1), 0); // zero flux to the north
        }
        if south == n {
            new.copy_within(row(count), bottom * width); // zero flux to the south
        }

        let t2 = Instant::now();
        if north >= 0 {
            let halo = grid[new_at].slice(row(bottom_of_north))?;
            rt.put_signal(
                halo,
                &new[row(1)],
                from_south.at(0)?,
                step as u64,
                SignalOp::Set,
                north,
            )?;
            halo_bytes += size_of_val(&new[row(1)]);
        }
        if south < n {
            let halo = grid[new_at].slice(row(0))?;
            rt.put_signal(
                halo,
                &new[row(count)],
                from_north.at(0)?,
                step as u64,
                SignalOp::Set,
                south,
            )?;
            halo_bytes += size_of_val(&new[row(count)]);
        }

        let t3 = Instant::now();
        if compare {
            residual.store(0, largest)?;
            rt.reduce_array(Team::WORLD, &residual.all(), &residual.all(), Op::Max)?;
            if me == 0 && step * 10 / steps > tenths {
                tenths = step * 10 / steps;
                eprintln!(
                    "step {step} of {steps}, residual {:.3e} m",
                    residual.load(0)?
                );
            }
        }
        waiting += (t1 - t0).as_secs_f64() + t3.elapsed().as_secs_f64();
        computing += (t2 - t1).as_secs_f64();
        sending += (t3 - t2).as_secs_f64();
    }
    // The block is copied back, without the halo rows: PE 0 gets it from there.
    grid[steps % 2].write(width, &field[steps % 2][width..bottom * width])?;

    let last = residual.load(0)?;
    rt.free_array(residual)?;
    rt.free_array(from_south)?;
    rt.free_array(from_north)?;
    Ok((
        last,
        [
            count as f64,
            steps as f64,
            halo_bytes as f64,
            computing,
            sending,
            waiting,
        ],
    ))
}

/// The whole map from the blocks of all PEs. PE 0 calls it, after a barrier.
fn gather(
    rt: &Runtime,
    grid: &SymArray<f64>,
    rows: usize,
    width: usize,
) -> nvshmemrs::Result<Vec<f64>> {
    let mut whole = Vec::with_capacity(rows * (width - 2));
    for pe in 0..rt.n_pes() {
        let mut block = vec![0.0; deal(rows, rt.n_pes(), pe).1 * width];
        let source = grid.slice(width..width + block.len())?;
        rt.get(&mut block, source, pe)?;
        for line in block.chunks_exact(width) {
            whole.extend_from_slice(&line[1..width - 1]);
        }
    }
    Ok(whole)
}

fn print_table(table: &[f64]) {
    let (a, b, c, d) = ("halo bytes", "computing s", "sending s", "waiting s");
    println!(
        "{:>4}{:>7}{:>8}{a:>13}{b:>13}{c:>13}{d:>13}",
        "PE", "rows", "steps"
    );
    for (pe, line) in table.chunks_exact(COLUMNS).enumerate() {
        let &[rows, steps, halo_bytes, computing, sending, waiting] = line else {
            continue;
        };
        println!(
            "{pe:4}{rows:7.0}{steps:8.0}{halo_bytes:13.0}{computing:13.3}{sending:13.3}{waiting:13.3}"
        );
    }
}

/// The map one cell wider on every side; the cells of the rim equal their neighbours.
fn pad(dem: &Dem) -> Vec<f64> {
    let mut whole = Vec::with_capacity((dem.rows + 2) * (dem.cols + 2));
    for i in 0..dem.rows + 2 {
        let row = i.clamp(1, dem.rows) - 1;
        whole.extend((0..dem.cols + 2).map(|j| dem.z[row * dem.cols + j.clamp(1, dem.cols) - 1]));
    }
    whole
}

fn run(path: &str, steps: usize) -> Result<bool, Box<dyn Error>> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());

    // PE 0 reads the map and tells the others its size; 0 rows mean that it could not.
    let header = rt.array::<f64>(4)?;
    let mut dem = None;
    if me == 0 {
        match load_dem(path) {
            Ok(found) => {
                header.write(
                    0,
                    &[found.rows as f64, found.cols as f64, found.dx, found.dy],
                )?;
                dem = Some(found);
            }
            Err(message) => eprintln!("landscape: {message}"),
        }
    }
    rt.broadcast_array(Team::WORLD, &header.all(), &header.all(), 0)?;
    let (rows, width) = (header.load(0)? as usize, header.load(1)? as usize + 2);
    let (dx, dy) = (header.load(2)?, header.load(3)?);
    if rows == 0 || n as usize > rows {
        if me == 0 && rows > 0 {
            eprintln!(
                "landscape: {n} PEs, but the map has only {rows} rows: start at most {rows} PEs"
            );
        }
        rt.finalize()?;
        return Ok(false);
    }

    // PE 0 deals the blocks, halo rows included.
    let largest = deal(rows, n, 0).1;
    let grid = [
        rt.array::<f64>((largest + 2) * width)?,
        rt.array::<f64>((largest + 2) * width)?,
    ];
    let (dt, cx, cy) = coefficients(KAPPA, dx, dy);
    if let Some(dem) = &dem {
        let s = if n == 1 { "" } else { "s" };
        println!(
            "{path}: {rows} x {} cells of {dx:.1} m x {dy:.1} m on {n} PE{s}",
            dem.cols
        );
        let years = steps as f64 * dt / 1e6;
        println!("kappa {KAPPA} m2/yr, {steps} steps of {dt:.0} years = {years:.1} million years");
        let whole = pad(dem);
        for pe in 0..n {
            let (first, count) = deal(rows, n, pe);
            let block = &whole[first * width..(first + count + 2) * width];
            rt.put(grid[0].slice(0..block.len())?, block, pe)?;
        }
    }

    let (residual, did) = simulate(&rt, &grid, rows, width, steps, (cx, cy))?;

    // Each PE puts its line into PE 0's table; PE 0 gets the blocks.
    let table = rt.array::<f64>(n as usize * COLUMNS)?;
    let line = me as usize * COLUMNS;
    rt.put(table.slice(line..line + COLUMNS)?, &did, 0)?;
    rt.barrier_all()?;
    let mut ok = true;
    if let Some(dem) = &dem {
        let after = gather(&rt, &grid[steps % 2], rows, width)?;
        let mut lines = vec![0.0; table.len()];
        table.read(0, &mut lines)?;
        print_table(&lines);
        println!("residual: {residual:.6e} m in the last step");
        println!(
            "mean elevation: {:.6} m before, {:.6} m after",
            mean(&dem.z),
            mean(&after)
        );
        println!("fingerprint: {:016x}", fingerprint(&after));

        let alone = single_process(dem, steps, (cx, cy));
        let differences = after.iter().zip(&alone).map(|(a, b)| (a - b).abs());
        // A NaN stays, and fails the check.
        let worst = differences.fold(0.0, |most, d| {
            if d <= most || f64::is_nan(most) {
                most
            } else {
                d
            }
        });
        ok = worst <= LIMIT;
        let verdict = if ok { "" } else { ": FAILED" };
        println!("check: max |difference| = {worst:.3e} (limit {LIMIT:e}){verdict}");
    }

    rt.free_array(table)?;
    for array in grid {
        rt.free_array(array)?;
    }
    rt.free_array(header)?;
    rt.finalize()?;
    Ok(ok)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let steps = arguments.get(1).map_or(Ok(STEPS), |text| text.parse());
    let (Some(path), Ok(steps @ 1..=0x7fff_ffff), ..=2) =
        (arguments.first(), steps, arguments.len())
    else {
        eprintln!("usage: landscape FILE [STEPS]");
        eprintln!("FILE comes from `landscape.py --export FILE`; STEPS is at least 1 ({STEPS})");
        return ExitCode::from(2);
    };
    match run(path, steps) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("landscape: {error}");
            ExitCode::FAILURE
        }
    }
}
