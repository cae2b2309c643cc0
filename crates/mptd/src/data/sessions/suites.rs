//! The suites that data is sealed with on this processor.

use mpt_wire::control::Suites;

/// The suites to offer: AES-256-GCM only where the processor has instructions for it. Without them it would be many times slower than
/// ChaCha20-Poly1305. `aes`: the administrator has nothing against it.
pub(in crate::data) fn of_this_processor(aes: bool) -> Suites {
    match aes && has_aes() {
        true => Suites::WITH_AES,
        false => Suites::WITHOUT_AES,
    }
}

#[cfg(target_arch = "x86_64")]
fn has_aes() -> bool {
    std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("pclmulqdq")
}

#[cfg(target_arch = "aarch64")]
fn has_aes() -> bool {
    std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn has_aes() -> bool {
    false
}
