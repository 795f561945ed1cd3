package ldap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
)

// tlv returns a BER element with a four-byte length.
func tlv(tag byte, content ...[]byte) []byte {
	all := bytes.Join(content, nil)
	return append(binary.BigEndian.AppendUint32([]byte{tag, 0x84}, uint32(len(all))), all...)
}

// TestMessagesTakeLittleMemory sends messages of the maximum size, full of the shortest elements. It
// measures the heap, so it is not parallel.
func TestMessagesTakeLittleMemory(t *testing.T) {
	const most = 64 << 20
	room := maxMessage - 1000
	name, dn := tlv(tagBytes, []byte("cn")), tlv(tagBytes, []byte("cn=x"))
	value := []byte{tagBytes, 0}
	empty := tlv(tagSequence, name, tlv(tagSet))
	// One message at a time is in memory, or else all of them would exceed the memory limit, and the
	// garbage collector would run all the time.
	tests := map[string]struct {
		op   func() []byte
		want error
	}{
		"values": {func() []byte {
			return tlv(tagEntry, dn, tlv(tagSequence, tlv(tagSequence, name, tlv(tagSet, bytes.Repeat(value, room/2)))))
		}, fetch.ErrProtocol},
		"attributes": {func() []byte { return tlv(tagEntry, dn, tlv(tagSequence, bytes.Repeat(empty, room/len(empty)))) }, fetch.ErrProtocol},
		"references": {func() []byte { return tlv(tagReference, bytes.Repeat(value, room/2)) }, fetch.ErrProtocol},
		"one value": {func() []byte {
			return tlv(tagEntry, dn, tlv(tagSequence, tlv(tagSequence, name, tlv(tagSet, tlv(tagBytes, make([]byte, room))))))
		}, nil},
		"many values": {func() []byte {
			return tlv(tagEntry, dn, tlv(tagSequence, tlv(tagSequence, name, tlv(tagSet, bytes.Repeat(value, maxElements-1)))))
		}, nil},
		"too large":    {func() []byte { return tlv(tagEntry, make([]byte, maxMessage)) }, fetch.ErrProtocol},
		"intermediate": {nil, fetch.ErrProtocol},
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(most)) // collect garbage before it counts
	for name, tt := range tests {
		done := tlv(tagSequence, []byte{tagInteger, 1, 1}, tlv(tagDone, []byte{tagEnumerated, 1, 0}, []byte{tagBytes, 0}, []byte{tagBytes, 0}))
		message := bytes.Repeat(tlv(tagSequence, []byte{tagInteger, 1, 1}, tlv(tagIntermediate)), 2*maxIntermediate)
		if tt.op != nil {
			message = tlv(tagSequence, []byte{tagInteger, 1, 1}, tt.op())
		}
		s := servers.Start(t, servers.Config{}, func(conn *servers.Conn) {
			c := conn.NetConn()
			c.Read(make([]byte, 1000))
			c.Write(message)
			c.Write(done)
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
