//! The actions of the PEs in each model, and the conditions that must hold.

pub(crate) mod board;
pub(crate) mod calls;
pub(crate) mod doorbell;
pub(crate) mod liveness;
pub(crate) mod lookup;
pub(crate) mod meeting;
pub(crate) mod releases;
pub(crate) mod sending;
pub(crate) mod streams;
pub(crate) mod teams;
