//! Methods of a transport that passes them on to one below it.

/// Writes the methods of `Transport` that are named, within its implementation for a transport that passes them on:
/// `pass_on!(self => &*self.below; kind, commit)`.
macro_rules! pass_on {
    ($this:ident => $below:expr; $($name:ident),* $(,)?) => {
        $(pass_on!(@$name $this, $below);)*
    };
    // Each method with its arguments and what it gives.
    (@kind $($to:tt)*) => { pass_on!(= kind() -> $crate::MemoryKind, $($to)*); };
    (@page_bytes $($to:tt)*) => { pass_on!(= page_bytes() -> u64, $($to)*); };
    (@may_load $($to:tt)*) => { pass_on!(= may_load() -> bool, $($to)*); };
    (@takes_machine_memory $($to:tt)*) => { pass_on!(= takes_machine_memory() -> bool, $($to)*); };
    (@looks_are_slow $($to:tt)*) => { pass_on!(= looks_are_slow() -> bool, $($to)*); };
    (@makers_of_memory $($to:tt)*) => { pass_on!(= makers_of_memory() -> &'static str, $($to)*); };
    (@failure $($to:tt)*) => { pass_on!(= failure() -> $crate::Result<()>, $($to)*); };
    (@keep $($to:tt)*) => { pass_on!(= keep(error: $crate::Error) -> (), $($to)*); };
    (@commit $($to:tt)*) => { pass_on!(= commit(range: $crate::buffer::SymRange) -> $crate::Result<()>, $($to)*); };
    (@decommit $($to:tt)*) => { pass_on!(= decommit(range: $crate::buffer::SymRange) -> (), $($to)*); };
    (@zero $($to:tt)*) => { pass_on!(= zero(range: $crate::buffer::SymRange) -> $crate::Result<()>, $($to)*); };
    (@check_adopt $($to:tt)*) => {
        pass_on!(= check_adopt(buffer: u64, bytes: u64, preferred: u64) -> $crate::Result<()>, $($to)*);
    };
    (@check_give_back $($to:tt)*) => { pass_on!(= check_give_back() -> $crate::Result<()>, $($to)*); };
    (@adopt $($to:tt)*) => {
        pass_on!(= adopt(range: $crate::buffer::SymRange, buffer: u64, preferred: u64) -> $crate::Result<()>, $($to)*);
    };
    (@give_back $($to:tt)*) => {
        pass_on!(= give_back(range: $crate::buffer::SymRange, buffer: u64, preferred: u64) -> $crate::Result<()>, $($to)*);
    };
    (@local_ptr $($to:tt)*) => { pass_on!(= local_ptr(pe: $crate::Pe, offset: u64) -> Option<u64>, $($to)*); };
    (@get_all $($to:tt)*) => {
        pass_on!(= get_all(
            call: $crate::transport::Call,
            wanted: &mut dyn Iterator<Item = $crate::transport::Wanted<'_>>
        ) -> $crate::Result<()>, $($to)*);
    };
    (@read $($to:tt)*) => {
        pass_on!(= read(
            call: $crate::transport::Call,
            me: $crate::Pe,
            source: $crate::buffer::SymRange,
            dest: $crate::buffer::LocalDest<'_>
        ) -> $crate::Result<()>, $($to)*);
    };
    (@write $($to:tt)*) => {
        pass_on!(= write(
            call: $crate::transport::Call,
            me: $crate::Pe,
            dest: $crate::buffer::SymRange,
            source: $crate::buffer::LocalSource<'_>
        ) -> $crate::Result<()>, $($to)*);
    };
    (@fence $($to:tt)*) => { pass_on!(= fence(lane: $crate::transport::Lane) -> $crate::Result<()>, $($to)*); };
    (@quiet $($to:tt)*) => { pass_on!(= quiet(call: $crate::transport::Call) -> $crate::Result<()>, $($to)*); };
    (@quiet_before_release $($to:tt)*) => {
        pass_on!(= quiet_before_release(call: $crate::transport::Call) -> $crate::Result<()>, $($to)*);
    };
    (@copy $($to:tt)*) => {
        pass_on!(= copy(
            to: $crate::Pe, dest: u64, from: $crate::Pe, source: u64, bytes: u64
        ) -> $crate::Result<()>, $($to)*);
    };
    (@load $($to:tt)*) => {
        pass_on!(= load(called: $crate::operation::Operation, offset: u64, bytes: usize) -> $crate::Result<u64>, $($to)*);
    };
    (@notes $($to:tt)*) => { pass_on!(= notes() -> Option<&dyn $crate::transport::Notes>, $($to)*); };
    (@progress $($to:tt)*) => { pass_on!(= progress() -> (), $($to)*); };
    (@owned_by $($to:tt)*) => { pass_on!(= owned_by(owner: Box<dyn $crate::transport::Owner>) -> (), $($to)*); };
    (@collectives $($to:tt)*) => { pass_on!(= collectives() -> Option<&dyn $crate::transport::Collectives>, $($to)*); };
    (@device_tables $($to:tt)*) => { pass_on!(= device_tables() -> Option<&dyn $crate::transport::DeviceTables>, $($to)*); };
    (@search $($to:tt)*) => {
        pass_on!(= search(
            lane: $crate::transport::Lane,
            search: &$crate::transport::Search<'_>
        ) -> Option<$crate::Result<$crate::transport::Found>>, $($to)*);
    };
    (@streams $($to:tt)*) => { pass_on!(= streams() -> Option<&dyn $crate::transport::Streams>, $($to)*); };
    (@drain $($to:tt)*) => { pass_on!(= drain() -> $crate::Result<()>, $($to)*); };
    (@leave $($to:tt)*) => { pass_on!(= leave(gone: bool) -> Option<String>, $($to)*); };
    (@hang_up $($to:tt)*) => { pass_on!(= hang_up(finalized: bool) -> (), $($to)*); };
    (@chore $($to:tt)*) => { pass_on!(= chore() -> Option<$crate::job::liveness::Chore>, $($to)*); };
    (@device $($to:tt)*) => { pass_on!(= device() -> Option<i32>, $($to)*); };
    (@about $($to:tt)*) => { pass_on!(= about() -> Option<String>, $($to)*); };
    (@mapping $($to:tt)*) => {
        pass_on!(= mapping() -> Option<std::sync::Arc<dyn std::any::Any + Send + Sync>>, $($to)*);
    };
    (= $name:ident($($argument:ident: $kind:ty),*) -> $out:ty, $this:ident, $below:expr) => {
        fn $name(&$this, $($argument: $kind),*) -> $out {
            $crate::transport::Transport::$name($below, $($argument),*)
        }
    };
}
pub(super) use pass_on;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// The methods of a block that begins with `head`: those that it has, and those that it passes on.
    fn methods<'a>(text: &'a str, head: &str) -> BTreeSet<&'a str> {
        let block = text.split_once(head).unwrap().1;
        let block = block.split_once("\n}\n").unwrap().0;
        let heads = (block.lines()).filter_map(|line| line.strip_prefix("    fn "));
        let own = heads.filter_map(|head| Some(head.split_once('(')?.0));
        let list = block.split_once("pass_on!(self => ");
        let list = list.map_or("", |(_, rest)| rest.split_once(");").unwrap().0);
        let names = list.split_once(';').map_or("", |(_, names)| names);
        own.chain(
            names
                .split([',', ' ', '\n'])
                .filter(|name| !name.is_empty()),
        )
        .collect()
    }

    /// A method that is left out does what it does by default, whatever the transport below does.
    #[test]
    fn every_method_of_a_transport_is_passed_on_or_left_out_on_purpose() {
        let all = methods(include_str!("mod.rs"), "pub(crate) trait Transport");
        assert!(!all.is_empty());
        // By default they are made of operations that are passed on.
        let made = [
            "get_all",
            "get_blocks",
            "get_value",
            "put_blocks",
            "put_value",
            "quiet_before_release",
        ];
        // Nobody would see what these do in a checked job.
        let unseen = ["collectives", "device_tables", "search", "streams"];
        // Over several hosts the GPU does no collectives and no searches, and nothing watches the program.
        let here = ["collectives", "notes", "search", "wrapped"];
        for (text, head, left_out) in [
            (
                include_str!("traffic.rs"),
                "impl Transport for Counted",
                vec![],
            ),
            (
                include_str!("check/decorator.rs"),
                "impl Transport for Checked",
                [&made[..], &unseen].concat(),
            ),
            (
                include_str!("remote/device.rs"),
                "impl Transport for DeviceTransport",
                here.to_vec(),
            ),
        ] {
            let there = methods(text, head);
            assert!(there.is_subset(&all), "{head}");
            let missing: BTreeSet<&str> = all.difference(&there).copied().collect();
            assert_eq!(missing, left_out.into_iter().collect(), "{head}");
        }
    }
}
