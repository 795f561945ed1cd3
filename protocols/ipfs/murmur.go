package ipfs

import (
	"encoding/binary"
	"math/bits"
)

// murmur3 returns the first half of MurmurHash3 x64 128 with the seed 0, which places names in HAMT
// directories.
func murmur3(data string) uint64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	mix1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	mix2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	var h1, h2 uint64
	b := []byte(data)
	for ; len(b) >= 16; b = b[16:] {
		h1 ^= mix1(binary.LittleEndian.Uint64(b))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(binary.LittleEndian.Uint64(b[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], b)
	h1 ^= mix1(binary.LittleEndian.Uint64(tail[:]))
	h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:]))
	n := uint64(len(data))
	h1, h2 = h1^n, h2^n
	h1 += h2
	h2 += h1
	return finish(h1) + finish(h2)
}

func finish(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
