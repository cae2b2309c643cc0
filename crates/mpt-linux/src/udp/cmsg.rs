//! Control messages of `sendmsg` and `recvmsg`, without allocation.

/// Room for the control messages of one call, aligned as the kernel wants them.
#[repr(C, align(8))]
pub(super) struct ControlBuffer<const N: usize>([u8; N]);

impl<const N: usize> ControlBuffer<N> {
    pub(super) const fn new() -> Self {
        Self([0; N])
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// Appends control messages to `header`, whose control buffer is `N` bytes long.
pub(super) struct Writer<'a> {
    header: &'a mut libc::msghdr,
    room: usize,
    used: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new<const N: usize>(
        header: &'a mut libc::msghdr,
        buffer: &'a mut ControlBuffer<N>,
    ) -> Self {
        header.msg_control = buffer.as_mut_ptr();
        header.msg_controllen = 0;
        Self { header, room: N, used: 0 }
    }

    /// Adds one message holding `value`.
    pub(super) fn push<T: Copy>(&mut self, level: libc::c_int, kind: libc::c_int, value: T) {
        let size = size_of::<T>() as u32;
        // SAFETY: CMSG_SPACE only computes.
        let space = unsafe { libc::CMSG_SPACE(size) } as usize;
        assert!(self.used + space <= self.room, "control buffer too small");
        // SAFETY: the assertion leaves `space` bytes behind `used` inside the aligned control buffer that `new` borrowed for
        // the writer's life; CMSG_SPACE keeps every message aligned, and CMSG_LEN/CMSG_DATA stay within that space.
        unsafe {
            let message =
                self.header.msg_control.cast::<u8>().add(self.used).cast::<libc::cmsghdr>();
            (*message).cmsg_level = level;
            (*message).cmsg_type = kind;
            (*message).cmsg_len = libc::CMSG_LEN(size) as _;
            libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
        }
        self.used += space;
        self.header.msg_controllen = self.used as _;
    }
}

/// Calls `each(level, type, data)` for every control message the kernel wrote.
pub(super) fn for_each(
    header: &libc::msghdr,
    mut each: impl FnMut(libc::c_int, libc::c_int, &[u8]),
) {
    // SAFETY: `header` was filled by a `recvmsg` that succeeded: control pointer and length describe initialised memory that
    // outlives the borrow, and the CMSG macros walk it within that length.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = message.as_ref() {
            let data = libc::CMSG_DATA(message);
            #[allow(clippy::unnecessary_cast, reason = "size_t with glibc, socklen_t with musl")]
            let len = (found.cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            each(found.cmsg_level, found.cmsg_type, std::slice::from_raw_parts(data, len));
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
}

/// A native-endian C int at the start of a control message, or its only byte (`IP_TOS` is one byte on some kernels, an int on others).
pub(super) fn int(data: &[u8]) -> Option<libc::c_int> {
    match data.first_chunk::<4>() {
        Some(bytes) => Some(libc::c_int::from_ne_bytes(*bytes)),
        None => data.first().map(|&byte| libc::c_int::from(byte)),
    }
}
