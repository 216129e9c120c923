//! PageRank of a graph: the Rust form of `examples/python/pagerank.py`, whose `--export FILE` writes the graph.
//!
//! ```text
//! nvshmemrs-run -n 4 -- target/release/examples/pagerank FILE
//! ```
//!
//! Each PE owns a block of the nodes, and the edges that end there. In a step it needs the weights of the nodes at the
//! beginning of these edges. So each PE puts the weights that PE q needs, and no others, into q's inbox, with a signal.

use nvshmemrs::{Cmp, Op, Runtime, SignalOp, SymArray, Team};
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

const DAMPING: f64 = 0.85;
const TOLERANCE: f64 = 1e-10; // of the sum of all changes in a step
const LIMIT: f64 = 1e-12; // largest difference from the result of one process

/// Names of nodes, and edges as pairs of nodes.
struct Graph {
    names: Vec<String>,
    edges: Vec<(usize, usize)>,
}

impl Graph {
    /// Reads a file of `pagerank.py --export`.
    fn load(path: &str) -> Result<Graph, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        let broken = || format!("{path} is not a file of `pagerank.py --export`");
        let number = |at: usize| {
            let word = bytes.get(4 * at..4 * at + 4)?.try_into().ok()?;
            usize::try_from(i32::from_le_bytes(word)).ok()
        };
        let (nodes, count) = number(0).zip(number(1)).ok_or_else(broken)?;
        let edges = (1..=count).map(|i| number(2 * i).zip(number(2 * i + 1)));
        let edges = edges.collect::<Option<Vec<_>>>().ok_or_else(broken)?;
        let names = String::from_utf8_lossy(&bytes[8 + 8 * count..]);
        let names: Vec<_> = names.lines().map(String::from).collect();
        if names.len() != nodes || edges.iter().any(|&(a, b)| a.max(b) >= nodes) {
            return Err(broken());
        }
        Ok(Graph { names, edges })
    }

    /// The number of edges that begin at each node.
    fn degrees(&self) -> Vec<f64> {
        let mut degrees = vec![0.0; self.names.len()];
        for &(source, _) in &self.edges {
            degrees[source] += 1.0;
        }
        degrees
    }

    /// The same iteration, written without blocks.
    fn one_process(&self) -> Vec<f64> {
        let (nodes, degrees) = (self.names.len() as f64, self.degrees());
        let (mut rank, mut change) = (vec![1.0 / nodes; self.names.len()], 1.0);
        while change > TOLERANCE {
            let mut sums = vec![dangling(&rank, &degrees) / nodes; rank.len()];
            for &(source, target) in &self.edges {
                sums[target] += rank[source] / degrees[source];
            }
            change = update(&mut rank, &sums, nodes);
        }
        rank
    }
}

/// The rank of the nodes where no edge begins.
fn dangling(rank: &[f64], degrees: &[f64]) -> f64 {
    let pairs = rank.iter().zip(degrees);
    pairs
        .filter(|(_, degree)| **degree == 0.0)
        .map(|(rank, _)| rank)
        .sum()
}

/// The ranks of the next step. Returns the sum of all changes.
fn update(rank: &mut [f64], sums: &[f64], nodes: f64) -> f64 {
    let mut change = 0.0;
    for (rank, sum) in rank.iter_mut().zip(sums) {
        let new = (1.0 - DAMPING) / nodes + DAMPING * sum;
        change += (new - *rank).abs();
        *rank = new;
    }
    change
}

/// The ranks of all nodes on PE 0, the number of steps and their seconds. Collective.
fn pagerank(rt: &Runtime, graph: &Graph) -> nvshmemrs::Result<(SymArray<f64>, u64, f64)> {
    let (me, n, nodes) = (rt.my_pe() as usize, rt.n_pes() as usize, graph.names.len());
    let size = nodes.div_ceil(n);
    let mine = (me * size).min(nodes)..((me + 1) * size).min(nodes);
    let degrees = &graph.degrees()[mine.clone()];

    // The nodes of PE p that PE q needs are needed[p * n + q], in order.
    let mut needed = vec![Vec::new(); n * n];
    for &(source, target) in &graph.edges {
        needed[source / size * n + target / size].push(source);
    }
    for list in &mut needed {
        list.sort_unstable();
        list.dedup();
    }
    let room = needed.iter().map(Vec::len).max().unwrap_or(0);
    // Weights from PE p begin at inbox[p * room]. For each edge that ends here: its place there, and its end.
    let here = graph
        .edges
        .iter()
        .filter(|(_, target)| mine.contains(target));
    let incoming: Vec<(usize, usize)> = here
        .map(|&(source, target)| {
            let (owner, list) = (source / size, &needed[source / size * n + me]);
            let place = owner * room + list.binary_search(&source).unwrap_or_default();
            (place, target - mine.start)
        })
        .collect();

    let inbox = rt.array::<f64>(n * room)?;
    let arrived = rt.array::<u64>(n)?;
    let sums = rt.array::<f64>(2)?; // change, and rank of nodes where no edge begins
    let whole = rt.array::<f64>(nodes)?;
    let (mut rank, mut step, mut change) = (vec![1.0 / nodes as f64; mine.len()], 0, 1.0);
    let mut weights = vec![0.0; n * room];
    sums.store(1, dangling(&rank, degrees))?;
    rt.reduce_array(Team::WORLD, &sums.all(), &sums.all(), Op::Sum)?; // all signals are 0
    let begin = Instant::now();
    while change > TOLERANCE {
        step += 1;
        for pe in (0..n).map(|i| (me + i) % n) {
            let list = needed[me * n + pe].iter().map(|node| node - mine.start);
            let data: Vec<f64> = list.map(|node| rank[node] / degrees[node]).collect();
            let place = inbox.slice(me * room..me * room + data.len())?;
            let signal = arrived.at(me)?;
            rt.put_signal(place, &data, signal, step, SignalOp::Set, pe as i32)?;
        }
        rt.wait_until_all(&arrived.all(), None, Cmp::Ge, step)?;
        inbox.read(0, &mut weights)?;
        let mut new = vec![sums.load(1)? / nodes as f64; mine.len()];
        for &(place, target) in &incoming {
            new[target] += weights[place];
        }
        // After this reduction every PE has read its inbox, so the next step may overwrite it.
        change = update(&mut rank, &new, nodes as f64);
        sums.write(0, &[change, dangling(&rank, degrees)])?;
        rt.reduce_array(Team::WORLD, &sums.all(), &sums.all(), Op::Sum)?;
        change = sums.load(0)?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    rt.put(whole.slice(mine)?, &rank, 0)?;
    rt.barrier_all()?;
    Ok((whole, step, seconds))
}

fn run(path: &str) -> Result<bool, Box<dyn Error>> {
    let graph = Graph::load(path)?;
    let rt = Runtime::init()?;
    let (whole, steps, seconds) = pagerank(&rt, &graph)?;
    let mut ok = true;
    if rt.my_pe() == 0 {
        let rank = whole.to_vec()?;
        let alone = graph.one_process();
        let differences = rank.iter().zip(&alone).map(|(a, b)| (a - b).abs());
        let worst = differences.fold(0.0, f64::max);
        ok = worst <= LIMIT && rank.iter().all(|rank| rank.is_finite());
        let mut order: Vec<usize> = (0..rank.len()).collect();
        order.sort_by(|&a, &b| rank[b].total_cmp(&rank[a]));
        let top: Vec<&str> = order
            .iter()
            .take(5)
            .map(|&i| graph.names[i].as_str())
            .collect();
        let (nodes, edges) = (graph.names.len(), graph.edges.len());
        println!("{nodes} nodes and {edges} edges on {} PEs", rt.n_pes());
        println!("time: {seconds:.4} s");
        println!("result: {steps} steps, first {}", top.join(", "));
        let verdict = if ok { "" } else { ": FAILED" };
        println!("check: max |difference| = {worst:.1e} (limit {LIMIT:e}){verdict}");
    }
    drop(whole);
    rt.finalize()?;
    Ok(ok)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path] = arguments.as_slice() else {
        eprintln!("usage: pagerank FILE, which `pagerank.py --export FILE` wrote");
        return ExitCode::from(2);
    };
    match run(path) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("pagerank: {error}");
            ExitCode::FAILURE
        }
    }
}
