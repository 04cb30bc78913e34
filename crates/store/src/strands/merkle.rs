//! A Merkle tree hash as RFC 6962 (Certificate Transparency) has it: SHA-256, leaves and nodes under names of their own.

use sha2::{Digest, Sha256};

use crate::audit::Hash;

/// The hash of a leaf.
pub(super) fn leaf(bytes: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(bytes).finalize().into()
}

/// The root over the hashes of leaves; the hash of nothing if there are none.
pub(super) fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Sha256::new().finalize().into(),
        [leaf] => *leaf,
        _ => {
            // The largest power of two below the number of leaves.
            let half = leaves.len().next_power_of_two() / 2;
            let (left, right) = leaves.split_at(half);
            Sha256::new()
                .chain_update([1])
                .chain_update(root(left))
                .chain_update(root(right))
                .finalize()
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_hex;

    /// The published test vectors of Certificate Transparency.
    #[test]
    fn roots_are_those_of_certificate_transparency() {
        let inputs: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let leaves: Vec<Hash> = inputs.iter().map(|input| leaf(input)).collect();
        for (count, expected) in [
            (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
            (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
            (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
            (7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
            (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
        ] {
            assert_eq!(to_hex(&root(&leaves[..count])), expected, "{count}");
        }
    }
}
