//! A PE of the job that measures. All PEs go through the same variants in the same order, each forced on all of them, and check the
//! results of each before it is measured. The calls of a variant are a CUDA graph; the variants of a case take turns.

use super::{Line, Machinery, Measured};
use crate::args::Args;
use crate::stats::Summary;
use anyhow::{Context, Result, bail};
use cudarc::driver::sys::{CUdevice_attribute, CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaGraph, CudaStream};
use nvshmemrs::tuning::{self, Algorithm, Choice, Geometry, Link, Tuning};
use nvshmemrs::{
    Dtype, Event, InitAttr, MemoryKind, Op, Operation, Runtime, Stream, SymArray, Team,
};
use nvshmemrs_cli::console;
use std::collections::HashSet;
use std::env;
use std::sync::Arc;

/// What is measured.
const COLLECTIVES: [Operation; 5] = [
    Operation::Reduce,
    Operation::Reducescatter,
    Operation::Fcollect,
    Operation::Alltoall,
    Operation::Broadcast,
];
/// Where nothing was written.
const UNTOUCHED: f32 = -1e30;
/// What the heap holds beside the two buffers.
const MORE: u64 = 16 << 20;

/// A collective and the length of its message or parts.
#[derive(Clone, Copy)]
struct Case {
    collective: Operation,
    /// Elements of the message, or of a part.
    count: usize,
    /// Elements of the whole buffer.
    whole: usize,
}

struct Tuner {
    rt: Runtime,
    stream: Stream,
    capture: &'static Arc<CudaStream>,
    source: SymArray<f32>,
    dest: SymArray<f32>,
    untouched: Vec<f32>,
    result: Vec<f32>,
    started: Event,
    ended: Event,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let pe: usize = env::var("NVSHMEMRS_PE")
        .context("a PE of --tune is started by nvshmemrs-perf")?
        .parse()?;
    let count = CudaContext::device_count()? as usize;
    let context = CudaContext::new(pe % count)?;
    // Never dropped, as `stream_of` asks for.
    let capture: &'static Arc<CudaStream> = Box::leak(Box::new(context.new_stream()?));
    let sizes = args.tune_sizes();
    // Parts are of whole elements.
    let most = sizes.iter().max().copied().unwrap_or(0) + 16 * 1024;
    let rt = Runtime::init_with(&InitAttr {
        memory: Some(MemoryKind::Device),
        heap_bytes: Some(2 * most + MORE),
        device: Some((pe % count) as i32),
        ..InitAttr::default()
    })?;
    let n_pes = rt.n_pes() as u32;
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    let machinery = Machinery {
        gpu: context.name()?,
        link: if count == 1 {
            Link::Shared
        } else {
            Link::Nvlink
        },
        n_pes,
        blocks: tuning::most_blocks(context.attribute(attribute)?)?,
    };
    let stream = rt.stream_from_cuda(tuning::stream_of(capture))?;
    let elements = most as usize / 4;
    let tuner = Tuner {
        source: rt.array(elements)?,
        dest: rt.array(elements)?,
        untouched: vec![UNTOUCHED; elements],
        result: vec![0.0; elements],
        started: rt.event()?,
        ended: rt.event()?,
        rt,
        stream,
        capture,
    };
    tuner.all(&machinery, &sizes, args.tune_rounds())
}

impl Tuner {
    fn all(mut self, machinery: &Machinery, sizes: &[u64], rounds: u32) -> Result<()> {
        let me = self.rt.my_pe();
        let data: Vec<f32> = (0..self.source.len()).map(|i| value(me, i)).collect();
        self.source.write(0, &data)?;
        drop(data);
        let shipped = Tuning::shipped(&machinery.gpu, machinery.link);
        if me == 0 {
            say(&Line::Machinery(Machinery {
                gpu: machinery.gpu.clone(),
                ..*machinery
            }))?;
        }
        for collective in COLLECTIVES {
            for &bytes in sizes {
                let case = Case::new(collective, bytes, machinery.n_pes as usize);
                let default = shipped
                    .of_world(collective, case.bytes(), self.rt.n_pes())
                    .context("the collective has no choice")?;
                let variants = variants(case, machinery, default);
                self.case(case, machinery, &variants, rounds)?;
            }
        }
        tuning::force(None);
        self.rt.barrier_all()?;
        let Tuner {
            rt,
            stream,
            source,
            dest,
            ..
        } = self;
        stream.close()?;
        rt.free_array(source)?;
        rt.free_array(dest)?;
        Ok(rt.finalize()?)
    }

    /// Checks all variants, measures them in turn, and says what came out.
    fn case(
        &mut self,
        case: Case,
        machinery: &Machinery,
        variants: &[Choice],
        rounds: u32,
    ) -> Result<()> {
        let calls = calls(case.whole as u64 * 4);
        let expected = case.expected(self.rt.my_pe(), machinery.n_pes as i32);
        let mut graphs = Vec::new();
        for &variant in variants {
            let graph = self.graph(case, variant, calls)?;
            self.dest.write(0, &self.untouched[..case.whole])?;
            self.rt.barrier_all()?;
            graph.launch()?;
            self.stream.synchronize()?;
            let result = &mut self.result[..expected.len()];
            self.dest.read(0, result)?;
            let wrong = |(one, other): (&f32, &f32)| one.to_bits() != other.to_bits();
            if let Some(index) = result.iter().zip(&expected).position(wrong) {
                bail!(
                    "PE {}: {} of {} bytes by {variant:?}: element {index} is {}, not {}",
                    self.rt.my_pe(),
                    case.collective.name(),
                    case.whole * 4,
                    result[index],
                    expected[index]
                );
            }
            graphs.push(graph);
        }
        let mut times = vec![Vec::new(); variants.len()];
        for _ in 0..rounds {
            for (graph, times) in graphs.iter().zip(&mut times) {
                self.rt.barrier_all()?;
                self.started.record(&self.stream)?;
                graph.launch()?;
                self.ended.record(&self.stream)?;
                self.stream.synchronize()?;
                let took = self.started.elapsed(&self.ended)?;
                times.push(took.as_secs_f64() * 1e6 / calls as f64);
            }
        }
        if self.rt.my_pe() != 0 {
            return Ok(());
        }
        for (index, (variant, times)) in variants.iter().zip(&times).enumerate() {
            let summary = Summary::new(times, u64::from(rounds) * calls as u64);
            say(&Line::Measured(Measured {
                collective: case.collective.name().into(),
                bytes: case.whole as u64 * 4,
                part: case.bytes(),
                algorithm: variant.algorithm,
                blocks: variant.blocks,
                threads: variant.threads,
                chunk: variant.chunk,
                default: index == 0,
                us: summary.context("no rounds")?.us,
            }))?;
        }
        Ok(())
    }

    /// A graph of `calls` calls, all by one variant.
    fn graph(&self, case: Case, variant: Choice, calls: usize) -> Result<CudaGraph> {
        tuning::force(Some(variant));
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        self.capture.begin_capture(mode)?;
        let called = (0..calls).try_for_each(|_| self.call(case));
        let graph = self.capture.end_capture(CUgraphInstantiate_flags(0));
        called?;
        graph?.context("the driver gives no graph")
    }

    fn call(&self, case: Case) -> Result<()> {
        let Case {
            collective,
            count,
            whole,
        } = case;
        let (to, from) = match collective {
            Operation::Reducescatter => (count, whole),
            Operation::Fcollect => (whole, count),
            _ => (whole, whole),
        };
        let dest = self.dest.slice(..to)?.range();
        let source = self.source.slice(..from)?.range();
        let (team, bytes) = (Team::WORLD, count * 4);
        let (float, sum) = (Dtype::Float as i32, Op::Sum as i32);
        self.stream.submit(move |rt| match collective {
            Operation::Reduce => rt.reduce(team, dest, source, count, float, sum),
            Operation::Reducescatter => rt.reducescatter(team, dest, source, count, float, sum),
            Operation::Fcollect => rt.fcollect(team, dest, source, bytes),
            Operation::Alltoall => rt.alltoall(team, dest, source, bytes),
            _ => rt.broadcast(team, dest, source, bytes, 0),
        })?;
        Ok(())
    }
}

impl Case {
    fn new(collective: Operation, bytes: u64, n_pes: usize) -> Case {
        let elements = bytes as usize / 4;
        match collective {
            Operation::Reduce | Operation::Broadcast => Case {
                collective,
                count: elements.max(1),
                whole: elements.max(1),
            },
            _ => {
                let count = (elements / n_pes).max(2);
                Case {
                    collective,
                    count,
                    whole: count * n_pes,
                }
            }
        }
    }

    /// Of the message or of a part.
    fn bytes(&self) -> u64 {
        self.count as u64 * 4
    }

    /// What PE `me` of `n` has in `dest` then.
    fn expected(&self, me: i32, n: i32) -> Vec<f32> {
        let sum = |i| (1..n).fold(value(0, i), |sum, pe| sum + value(pe, i));
        let (count, mine) = (self.count, self.count * me as usize);
        match self.collective {
            Operation::Reduce => (0..count).map(sum).collect(),
            Operation::Reducescatter => (mine..mine + count).map(sum).collect(),
            Operation::Fcollect => self.parts(n, |i| i),
            Operation::Alltoall => self.parts(n, |i| mine + i),
            _ => (0..count).map(|i| value(0, i)).collect(),
        }
    }

    /// A part of every PE, with these elements of its source.
    fn parts(&self, n: i32, element: impl Fn(usize) -> usize + Copy) -> Vec<f32> {
        let part = |pe| (0..self.count).map(move |i| value(pe, element(i)));
        (0..n).flat_map(part).collect()
    }
}

/// Element `index` of PE `pe`'s source: such that the order of additions is seen in their sum.
fn value(pe: i32, index: usize) -> f32 {
    let mixed = (index as u32 ^ (pe as u32) << 27).wrapping_mul(0x9e37_79b9);
    ((mixed >> 8) as i32 - (1 << 23)) as f32 / 1024.0
}

/// Enough calls that the start of a graph does not matter.
fn calls(bytes: u64) -> usize {
    match bytes {
        0..=0x1_0000 => 50,
        0x1_0001..=0x10_0000 => 20,
        0x10_0001..=0x100_0000 => 8,
        _ => 4,
    }
}

/// The choices to measure, of which no two come to the same: the default first.
fn variants(case: Case, machinery: &Machinery, default: Choice) -> Vec<Choice> {
    let (most, n_pes) = (machinery.blocks, machinery.n_pes);
    let mut all = vec![default];
    for blocks in [most, most / 2, most / 4, most / 8] {
        for threads in [64, 128, 256, 512] {
            all.extend(
                [Algorithm::Flags, Algorithm::Direct].map(|algorithm| Choice {
                    up_to: u64::MAX,
                    algorithm,
                    blocks: blocks.max(1),
                    threads,
                    chunk: 0,
                }),
            );
        }
    }
    let chunks = match case.collective {
        Operation::Reduce if n_pes == 2 => &[16, 32, 64, 128][..],
        Operation::Broadcast => &[16, 32, 64][..],
        _ => &[],
    };
    for blocks in [most, most / 2] {
        all.extend(chunks.iter().map(|chunk| Choice {
            up_to: u64::MAX,
            algorithm: Algorithm::Direct,
            blocks: blocks.max(1),
            threads: 512,
            chunk: chunk << 10,
        }));
    }
    let mut seen: HashSet<Geometry> = HashSet::new();
    let bytes = case.bytes();
    all.retain(|&choice| {
        // Two threads for a warp's worth of loads are never faster, and a chunk is part of the message.
        let useful = choice == default
            || (choice.algorithm == Algorithm::Flags || choice.threads >= 256)
                && u64::from(choice.chunk) * 4 <= bytes;
        let geometry = tuning::geometry(case.collective, bytes, n_pes as i32, most, choice);
        useful && geometry.is_some_and(|geometry| seen.insert(geometry))
    });
    all
}

fn say(line: &Line) -> Result<()> {
    Ok(console::print(&(serde_json::to_string(line)? + "\n"))?)
}
