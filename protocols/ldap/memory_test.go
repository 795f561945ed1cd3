package ldap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
)

// pieces are the parts of an element in order. They are joined only on the wire, because copies of
// large content would take most of the time.
type pieces [][]byte

// tlv returns a BER element with a four-byte length.
func tlv(tag byte, content ...pieces) pieces {
	all := slices.Concat(content...)
	size := 0
	for _, p := range all {
		size += len(p)
	}
	return append(pieces{binary.BigEndian.AppendUint32([]byte{tag, 0x84}, uint32(size))}, all...)
}

// TestMessagesTakeLittleMemory sends messages of the maximum size, full of the shortest elements. It
// measures the heap, so it is not parallel.
func TestMessagesTakeLittleMemory(t *testing.T) {
	const most = 64 << 20
	room := maxMessage - 1000
	name, dn := tlv(tagBytes, pieces{[]byte("cn")}), tlv(tagBytes, pieces{[]byte("cn=x")})
	value := []byte{tagBytes, 0}
	empty := bytes.Join(tlv(tagSequence, name, tlv(tagSet)), nil)
	repeat := func(p []byte, n int) pieces { return pieces{bytes.Repeat(p, n)} }
	// One message at a time is in memory, or else all of them would exceed the memory limit, and the
	// garbage collector would run all the time.
	tests := map[string]struct {
		op   func() pieces
		want error
	}{
		"values": {func() pieces {
			return tlv(tagEntry, dn, tlv(tagSequence, tlv(tagSequence, name, tlv(tagSet, repeat(value, room/2)))))
		}, fetch.ErrProtocol},
		"attributes": {func() pieces { return tlv(tagEntry, dn, tlv(tagSequence, repeat(empty, room/len(empty)))) }, fetch.ErrProtocol},
		"references": {func() pieces { return tlv(tagReference, repeat(value, room/2)) }, fetch.ErrProtocol},
		"one value": {func() pieces {
			return tlv(tagEntry, dn, tlv(tagSequence, tlv(tagSequence, name, tlv(tagSet, tlv(tagBytes, pieces{make([]byte, room)})))))
		}, nil},
		"many values": {func() pieces {
			return tlv(tagEntry, dn, tlv(tagSequence, tlv(tagSequence, name, tlv(tagSet, repeat(value, maxElements-1)))))
		}, nil},
		"too large":    {func() pieces { return tlv(tagEntry, pieces{make([]byte, maxMessage)}) }, fetch.ErrProtocol},
		"intermediate": {nil, fetch.ErrProtocol},
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(most)) // collect garbage before it counts
	for name, tt := range tests {
		id := pieces{{tagInteger, 1, 1}}
		done := tlv(tagSequence, id, tlv(tagDone, pieces{{tagEnumerated, 1, 0}, {tagBytes, 0}, {tagBytes, 0}}))
		message := repeat(bytes.Join(tlv(tagSequence, id, tlv(tagIntermediate)), nil), 2*maxIntermediate)
		if tt.op != nil {
			message = tlv(tagSequence, id, tt.op())
		}
		s := servers.Start(t, servers.Config{}, func(conn *servers.Conn) {
			c := conn.NetConn()
			c.Read(make([]byte, 1000))
			for _, p := range slices.Concat(message, done) {
				if _, err := c.Write(p); err != nil {
					return
				}
			}
			io.Copy(io.Discard, c)
		})
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		peak := uint64(0)
		c := fetch.New(nil, Load)
		resp, err := c.Get(t.Context(), "ldap://"+s.Addr+"/cn=x")
		if err == nil {
			buf := make([]byte, 1<<20)
			for err == nil {
				_, err = resp.Body.Read(buf)
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
			}
			if err == io.EOF {
				err = nil
			}
			resp.Body.Close()
		}
		c.Close()
		s.Close()
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		if !errors.Is(err, tt.want) || peak > most {
			t.Errorf("%s: %v, want class %q; up to %d MiB of memory", name, err, tt.want, peak>>20)
		}
	}
}
