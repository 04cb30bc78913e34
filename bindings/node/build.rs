//! Tells the linker that Node brings the functions of its own interface.

fn main() {
    napi_build::setup();
}
