//! The reader as it is served: its pages, its API and `/rpc/gloss`, over HTTP and in a browser.

mod browser;
mod executor;
mod gloss;
mod pages;
mod site;
