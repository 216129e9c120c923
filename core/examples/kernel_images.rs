//! Makes the images of the GPU kernels that are shipped, with NVRTC; no GPU is needed. `cargo xtask images` runs it.
//!
//! Usage: kernel_images NVRTC FOLDER

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [nvrtc, folder] = args.as_slice() else {
        eprintln!("usage: kernel_images NVRTC FOLDER");
        return ExitCode::from(2);
    };
    match nvshmemrs::make_kernel_images(Path::new(nvrtc), Path::new(folder)) {
        Ok(made) => {
            for image in made {
                println!("{}: {} bytes", image.path.display(), image.bytes);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kernel_images: {error}");
            ExitCode::FAILURE
        }
    }
}
