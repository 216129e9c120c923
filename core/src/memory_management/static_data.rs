//! Static symmetric data: the executable's global and static variables become symmetric at their addresses.
//!
//! They get an offset in the window behind the heap, as a registered buffer does, the same on every PE; their addresses may differ between
//! the PEs. In the standard they are always symmetric, so if they cannot be, an operation on a variable fails, not init.

use crate::buffer::SymRange;
use crate::collectives::MemberCall;
use crate::debug::Level;
use crate::job::executable::{Module, Variables, module_of};
use crate::operation::{ARGS, Operation};
use crate::runtime::Inner;
use crate::{Error, Result, Runtime, Team};

impl Inner {
    #[track_caller]
    fn register_static_data(&self) -> Result<()> {
        let operation = Operation::StaticDataRegister;
        let collective = self.enter(Team::WORLD, operation)?;
        let completed = self.complete_earlier(operation);
        let found = completed.and_then(|()| match self.heap.ranges.variables() {
            None => Variables::find(),
            Some(_) => Err(Error::NotSupported(
                "the variables are symmetric already".into(),
            )),
        });
        let variables = match found {
            Ok(variables) => variables,
            Err(error) => return collective.fail(operation, [0; ARGS], error),
        };
        let args = [variables.bytes, variables.build, 0, 0, 0];
        collective.join(operation, args, &[])?;
        // Every PE comes to the same answer.
        let place = {
            let mut state = self.heap.lock();
            let page = self.transport.properties().page_bytes;
            let window = &mut state.registered.window;
            let largest = window.largest();
            window.allocate(variables.bytes, page).ok_or_else(|| {
                Error::NotSupported(format!(
                    "the executable has {} bytes of variables, and there is room for {largest}: raise NVSHMEM_SYMMETRIC_SIZE",
                    variables.bytes
                ))
            })?
        };
        let range = SymRange::new(self.layout.heap_bytes + place.offset, variables.bytes);
        let adopted = self.transport.memory().adopt_static(range, variables.start);
        let mine = adopted.is_ok();
        let call = MemberCall::plain(operation).with(args);
        if let Err(error) = collective.meet(call.failing(adopted.err()), &[]) {
            // Some PE could not: the others take it back. The place stays taken, because some PE's variables may have stayed there.
            if mine {
                let _ = self
                    .transport
                    .memory()
                    .give_back_static(range, variables.start);
            }
            return Err(error);
        }
        self.observe_allocated(&collective, range.offset(), variables.bytes);
        self.heap
            .ranges
            .set_variables(variables.start, variables.bytes, range.offset());
        Ok(())
    }

    /// Makes the variables private memory again, when the runtime ends.
    pub(crate) fn forget_static_data(&self) {
        let Some((start, offset)) = self.heap.ranges.variables() else {
            return;
        };
        let block = self.heap.lock().find(offset);
        self.heap.ranges.set_variables(start, 0, offset);
        let Some(block) = block else {
            return;
        };
        let range = SymRange::new(offset, block.bytes);
        if let Err(error) = self.transport.memory().give_back_static(range, start) {
            self.debug.write(Level::Warn, self.my_pe, || {
                format!(
                    "the executable's variables stay shared memory, with their contents: {error}"
                )
            });
        }
    }

    /// Why a variable is not symmetric; none if the address is no variable's.
    #[cold]
    pub(crate) fn about_variable(&self, address: u64) -> Option<String> {
        Some(match module_of(address)? {
            Module::ThreadLocal => {
                "it is a thread-local variable: allocate it with `malloc()`, or declare it static without _Thread_local".into()
            }
            Module::Library(name) => format!(
                "it is a variable of the shared library {name}, and only those of the executable can be symmetric: allocate it with `malloc()`"
            ),
            Module::Executable => match self.static_data_error.get() {
                _ if self.heap.ranges.variables().is_some() => {
                    "it is a constant of the executable, and only variables are symmetric".into()
                }
                Some(why) => format!("it is a variable of the executable, and these are not symmetric: {why}"),
                None => "it is a variable of the executable: allocate it with `malloc()`, or make the variables symmetric with \
                         `static_data_register()`"
                    .into(),
            },
        })
    }
}

impl Runtime {
    /// Makes the global and static variables of the executable symmetric, in place. The address of a variable on this PE is then the symmetric address of the same
    /// variable on every PE, even if address space layout randomisation gives it other addresses there. Finalize makes them private again, with their contents.
    ///
    /// No other thread of the program may write to a variable during the call, nor during finalize; a thread that waits, or computes with
    /// other memory, does no harm. A child that is forked gets a private copy of the variables. Thread-local variables, and those of
    /// shared libraries, are not symmetric. All of the variables are one allocation: an access that leaves its variable is not an error unless it leaves them all.
    ///
    /// If the PEs cannot have symmetric variables (PEs of different executables, PEs that are threads, a heap in device memory), every
    /// PE gets the error, and an operation on a variable fails with the same reason later.
    ///
    /// Collective over WORLD; includes a barrier. OpenSHMEM 1.5, section 3: Memory Model.
    #[track_caller]
    pub fn static_data_register(&self) -> Result<()> {
        self.inner.register_static_data().inspect_err(|error| {
            if self.inner.heap.ranges.variables().is_none() {
                let _ = self.inner.static_data_error.set(error.to_string());
            }
        })
    }
}
