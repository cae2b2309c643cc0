//! The memory that the allocator of the C library keeps for later.

/// Gives back to the system what the allocator keeps and nobody uses: freed memory stays with it otherwise where anything above is still in use
/// (`malloc_trim(3)`). It takes milliseconds where much was freed. Does nothing with another C library than glibc.
pub fn release_free() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number, and the allocator locks what it looks at.
    unsafe {
        libc::malloc_trim(0);
    }
}
