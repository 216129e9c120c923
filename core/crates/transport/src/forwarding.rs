//! Tests of wrappers: a transport that records which of its methods are called stands below them.

use super::trace::{Trace, Traced};
use super::traffic::{Counted, Traffic};
use super::*;
use crate::lock::lock;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Records the names of the methods that are called.
#[derive(Default)]
struct Recorder(Arc<Mutex<BTreeSet<&'static str>>>);

impl Recorder {
    fn record(&self, name: &'static str) {
        lock(&self.0).insert(name);
    }
}

impl Memory for Recorder {
    fn commit(&self, _: SymRange) -> Result<()> {
        Ok(())
    }
    fn decommit(&self, _: SymRange) {}
    fn zero(&self, _: SymRange) -> Result<()> {
        Ok(())
    }
    fn check_adopt(&self, _: u64, _: u64, _: u64) -> Result<()> {
        Ok(())
    }
    fn check_give_back(&self) -> Result<()> {
        Ok(())
    }
    fn adopt(&self, _: SymRange, _: u64, _: u64) -> Result<()> {
        Ok(())
    }
    fn give_back(&self, _: SymRange, _: u64, _: u64) -> Result<()> {
        Ok(())
    }
}

impl Transport for Recorder {
    fn properties(&self) -> Properties {
        self.record("properties");
        Properties {
            kind: MemoryKind::Host,
            page_bytes: 4096,
            may_load: true,
            takes_machine_memory: true,
            polling_is_slow: false,
            makers_of_memory: "",
            device: Some(7),
        }
    }
    fn memory(&self) -> &dyn Memory {
        self.record("memory");
        self
    }
    fn local_ptr(&self, _: Pe, offset: u64) -> Option<u64> {
        self.record("local_ptr");
        Some(offset)
    }
    fn execute(&self, _: Request<'_>) -> Result<Reply> {
        self.record("execute");
        Ok([5, 6])
    }
    fn keep(&self, _: Error) {
        self.record("keep");
    }
    fn failure(&self) -> Result<()> {
        self.record("failure");
        Err(Error::Internal(
            "the recorder is the transport below".into(),
        ))
    }
    fn unwatched(&self) -> Option<&dyn Transport> {
        self.record("unwatched");
        None
    }
    fn observer(&self) -> Option<&dyn Observer> {
        self.record("observer");
        None
    }
    fn progress(&self) {
        self.record("progress");
    }
    fn owned_by(&self, _: Arc<dyn Owner>) {
        self.record("owned_by");
    }
    fn collectives(&self) -> Option<&dyn Collectives> {
        self.record("collectives");
        None
    }
    fn device_tables(&self) -> Option<&dyn DeviceTables> {
        self.record("device_tables");
        None
    }
    fn search(&self, _: Submission, _: &Search<'_>) -> Option<Result<Found>> {
        self.record("search");
        None
    }
    fn streams(&self) -> Option<&dyn Streams> {
        self.record("streams");
        None
    }
    fn drain(&self) -> Result<()> {
        self.record("drain");
        Err(Error::Internal(
            "the recorder is the transport below".into(),
        ))
    }
    fn leave(&self, _: bool) -> Option<String> {
        self.record("leave");
        Some("left".into())
    }
    fn disconnect(&self, _: bool) {
        self.record("disconnect");
    }
    fn chore(&self) -> Option<WatchdogTask> {
        self.record("chore");
        Some(Box::new(|| {}))
    }
    fn about(&self) -> Option<String> {
        self.record("about");
        Some("recorder".into())
    }
    fn mapping(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.record("mapping");
        Some(Arc::new(3_u8))
    }
}

/// The PE of the test.
struct Nobody;

impl Owner for Nobody {
    fn wait(&self, _: crate::job::published::Wait, _: &dyn Fn() -> Result<bool>) -> Result<()> {
        Ok(())
    }
    fn check(&self, _: Operation) -> Result<()> {
        Ok(())
    }
    fn check_team(&self, _: Operation, _: u32) -> Result<()> {
        Ok(())
    }
    fn break_team(&self, _: u32) {}
}

fn request(body: Body<'_>) -> Request<'_> {
    let call = Call {
        submission: Submission::Blocking,
        context: 0,
        called: Operation::Get,
        at: Location::caller(),
    };
    Request { call, body }
}

fn signal(pe: Pe) -> Request<'static> {
    let op = SignalOp::Set;
    let update = SignalUpdate {
        offset: 0,
        value: 1,
        op,
    };
    request(Body::Signal { pe, update })
}

/// Calls every method but `inner`, and checks that the answers of the transport below come through.
fn call_all(transport: &dyn Transport) {
    assert_eq!(transport.properties().device, Some(7));
    assert!(transport.memory().check_give_back().is_ok());
    assert_eq!(transport.local_ptr(0, 9), Some(9));
    assert_eq!(transport.execute(signal(1)).unwrap(), [5, 6]);
    transport.keep(Error::Internal(String::new()));
    assert!(transport.failure().is_err());
    let _ = transport.unwatched();
    assert!(transport.observer().is_none());
    transport.progress();
    transport.owned_by(Arc::new(Nobody));
    assert!(transport.collectives().is_none());
    assert!(transport.device_tables().is_none());
    let search = Search {
        offset: 0,
        count: 1,
        dtype: crate::dtype::Dtype::Int64,
        cmp: crate::op::Cmp::Eq,
        expected: Expected::Same(0),
        status: None,
        mode: MatchMode::One,
        called: Operation::SignalWait,
        waits: true,
        answers: true,
    };
    assert!(transport.search(Submission::Blocking, &search).is_none());
    assert!(transport.streams().is_none());
    assert!(transport.drain().is_err());
    assert_eq!(transport.leave(true).as_deref(), Some("left"));
    transport.disconnect(true);
    assert!(transport.chore().is_some());
    assert_eq!(transport.about().as_deref(), Some("recorder"));
    assert!(transport.mapping().is_some());
}

/// The methods of the trait, as the source declares them.
fn methods() -> BTreeSet<&'static str> {
    let source = include_str!("lib.rs");
    let (_, after) = source.split_once("pub trait Transport:").unwrap();
    let (body, _) = after.split_once("\n}\n").unwrap();
    let names = body.lines().filter_map(|line| line.strip_prefix("    fn "));
    names.filter_map(|name| name.split('(').next()).collect()
}

/// Calls every method of a wrapper, and checks that the transport below is called.
fn assert_forwards<T: Transport>(wrap: impl FnOnce(Box<dyn Transport>) -> T) {
    let called = Arc::default();
    let wrapper = wrap(Box::new(Recorder(Arc::clone(&called))));
    call_all(&wrapper);
    let mut expected = methods();
    assert!(expected.remove("inner") && expected.len() > 10);
    assert_eq!(*lock(&called), expected);
}

#[test]
fn a_wrapper_forwards_every_method() {
    let traffic = Arc::new(Traffic::new(2));
    assert_forwards(|below| Counted {
        below,
        traffic: Arc::clone(&traffic),
    });
    assert_eq!(traffic.read()[0].signals, 1);
    let path = std::env::temp_dir().join(format!("nvshmemrs-forward-{}", std::process::id()));
    let control = job::block::Control::create(2, 2 << 20, Default::default(), None).unwrap();
    let (kind, sites) = (MemoryKind::Host, sites::Sites::new());
    let trace = Trace::start(&path, &control, 0, kind, &sites).unwrap();
    assert_forwards(|below| Traced {
        below,
        trace: Arc::clone(&trace),
    });
    trace.close();
    // PE 1 has no part.
    let line = trace.merge().unwrap();
    assert!(line.contains("has no calls of PE 1"), "{line}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"peer\":1"), "{text}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_contract_is_small() {
    assert!(methods().len() <= 21, "{:?}", methods());
}

/// A request that a transport does not implement becomes simple requests, with the same bytes in the same places.
#[test]
fn a_compound_request_becomes_simple_ones() {
    /// Memory of one PE, which implements puts and gets only.
    struct Simple(Recorder, Mutex<[u8; 64]>);
    impl Transport for Simple {
        fn properties(&self) -> Properties {
            self.0.properties()
        }
        fn memory(&self) -> &dyn Memory {
            self.0.memory()
        }
        fn local_ptr(&self, _: Pe, _: u64) -> Option<u64> {
            None
        }
        fn execute(&self, request: Request<'_>) -> Result<Reply> {
            let mut heap = lock(&self.1);
            match request.body {
                Body::Put(PutRequest { dest, source, .. }, _) => {
                    let to = &mut heap[dest as usize..][..source.bytes()];
                    // SAFETY: the source is borrowed memory of the test, as long as `to`.
                    unsafe {
                        copy::copy::<true, false>(to.as_mut_ptr(), source.address(), to.len())
                    }
                }
                Body::Get(GetRequest { source, dest, .. }, _) => {
                    let from = &heap[source as usize..][..dest.bytes()];
                    // SAFETY: as above.
                    unsafe { copy::copy::<false, true>(dest.address(), from.as_ptr(), from.len()) }
                }
                Body::Quiet => {}
                _ => {
                    drop(heap);
                    return execute_in_parts(self, request);
                }
            }
            Ok(NOTHING)
        }
        fn keep(&self, _: Error) {}
    }
    let simple = Simple(Recorder::default(), Mutex::new([0; 64]));
    let value = [0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09];
    let put = Body::PutValue {
        pe: 0,
        dest: 8,
        value,
        bytes: 12,
    };
    simple.execute(request(put)).unwrap();
    assert_eq!(
        lock(&simple.1)[7..21],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0]
    );
    let get = Body::GetValue {
        pe: 0,
        source: 8,
        bytes: 12,
    };
    let got = simple.execute(request(get)).unwrap();
    assert_eq!(got, [value[0], value[1] & 0xffff_ffff]);
    let mut two = [[0_u8; 2], [0; 2]];
    let [first, second] = &mut two;
    let wanted = vec![
        GetRequest {
            pe: 0,
            source: 8,
            dest: LocalDest::from(first),
        },
        GetRequest {
            pe: 0,
            source: 18,
            dest: LocalDest::from(second),
        },
    ];
    simple.execute(request(Body::GetAll(wanted))).unwrap();
    assert_eq!(two, [[1, 2], [11, 12]]);
    simple.execute(request(Body::QuietBeforeRelease)).unwrap();
    let error = execute_in_parts(&simple, request(Body::Fence)).unwrap_err();
    assert!(error.to_string().contains("`get`"), "{error}");
}
