//! The face from outside: the API as clients of the Kubernetes protocol use it, and the command line.

mod api;
mod cases;
mod cli;
