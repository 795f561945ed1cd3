package sftp

import (
	"testing"

	"github.com/urlget/urlget/internal/codec/filexfer"
)

// TestImpossibleSizesAreUnknown checks that entries with sizes above 1<<63-1 have an unknown size.
func TestImpossibleSizesAreUnknown(t *testing.T) {
	t.Parallel()
	l := &listing{base: "sftp://h/"}
	for size, want := range map[uint64]int64{0: 0, 1<<63 - 1: 1<<63 - 1, 1 << 63: -1, 1<<64 - 2: -1} {
		a := filexfer.Attrs{Flags: filexfer.AttrSize | filexfer.AttrPermissions, Size: size, Mode: filexfer.ModeRegular | 0o644}
		if e := l.entry(filexfer.File{Name: "a", Attrs: a}, &Sys{}); e.Size != want {
			t.Errorf("%d: size %d, want %d", size, e.Size, want)
		}
	}
}
