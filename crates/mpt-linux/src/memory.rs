//! The memory that the allocator of the C library keeps for later.

/// Gives free memory of the allocator back to the system (`malloc_trim(3)`). Otherwise the allocator keeps memory below any that is still in use. The
/// call takes milliseconds where much was freed, and does nothing with another C library than glibc.
pub fn release_free() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number, and the allocator locks what it looks at.
    unsafe {
        libc::malloc_trim(0);
    }
}
