package nfs3

import (
	"bytes"
	"errors"
	"io/fs"
	"reflect"
	"testing"
	"time"

	"github.com/urlget/urlget/internal/codec/xdr"
)

// record returns the contents of the record b.
func record(t testing.TB, b []byte) []byte {
	t.Helper()
	got, err := xdr.ReadRecord(bytes.NewReader(b), nil, len(b))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCallsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, cred := range []Cred{{}, {Flavor: FlavorSys, UID: 1, GID: 2}, {Flavor: FlavorSys, UID: 65534, GIDs: []uint32{3, 4}}} {
		c, err := ParseCall(record(t, AppendCall(nil, 7, Lookup, cred, LookupArgs("handle", "name"))))
		if err != nil || c.XID != 7 || c.Program != ProgramNFS || c.Version != 3 || c.Procedure != 3 || !reflect.DeepEqual(c.Cred, cred) {
			t.Errorf("%+v, %v", c, err)
		}
		if dir, name := ParseHandle(c.Args), c.Args.Text(MaxName); dir != "handle" || name != "name" || c.Args.Err() != nil || c.Args.Len() != 0 {
			t.Errorf("%q %q %v", dir, name, c.Args.Err())
		}
	}
	many := Cred{Flavor: FlavorSys, GIDs: make([]uint32, 100)}
	if c, err := ParseCall(record(t, AppendCall(nil, 7, Null, many, nil))); err != nil || len(c.Cred.GIDs) != 16 {
		t.Errorf("%d groups, %v", len(c.Cred.GIDs), err)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	versions := func(b []byte) []byte { return xdr.AppendUint32(xdr.AppendUint32(b, 4), 4) }
	for _, tt := range []struct {
		reply []byte
		want  string
		auth  bool
	}{
		{AppendReply(nil, 7, nil), "", false},
		{AppendRejection(nil, 7, ProgUnavail, nil), "PROG_UNAVAIL", false},
		{AppendRejection(nil, 7, ProgMismatch, versions), "PROG_MISMATCH (supported versions: 4 to 4)", false},
		{AppendRejection(nil, 7, GarbageArgs, nil), "GARBAGE_ARGS", false},
		{AppendRejection(nil, 7, 99, nil), "accept_stat 99", false},
		{AppendDenied(nil, 7, AuthTooWeak), "AUTH_TOOWEAK", true},
		{AppendDenied(nil, 7, 77), "AUTH_ERROR 77", true},
		{AppendDenied(nil, 7, 0xfffffff0), "AUTH_ERROR 4294967280", true},
		{AppendDenied(nil, 7, 0), "AUTH_BADCRED", true},
	} {
		xid, results, err := ParseReply(record(t, tt.reply))
		var r *Rejection
		switch {
		case xid != 7:
			t.Errorf("%q: xid %d", tt.want, xid)
		case tt.want == "":
			if results == nil || err != nil {
				t.Error(err)
			}
		case !errors.As(err, &r) || r.Error() != tt.want || r.Auth() != tt.auth || results != nil:
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if _, _, err := ParseReply([]byte("HTTP/1.1 400 Bad")); !errors.Is(err, xdr.ErrMalformed) {
		t.Error(err)
	}
}

// fullAttr has a different value in each attribute.
var fullAttr = Attr{Type: TypeDir, Mode: 0o1755, Links: 2, UID: 3, GID: 4, Size: 5, Used: 6, Device: [2]uint32{7, 8}, FSID: 9, FileID: 10,
	ATime: Time{11, 12}, MTime: Time{13, 14}, CTime: Time{15, 16}}

func TestResultsRoundTrip(t *testing.T) {
	t.Parallel()
	d := xdr.NewDecoder(fullAttr.Append(nil))
	if got := ParseAttr(d); got != fullAttr || d.Err() != nil || d.Len() != 0 {
		t.Errorf("%+v, %v", got, d.Err())
	}
	for _, plus := range []bool{false, true} {
		want := Listing{Verifier: 1, EOF: true, Entries: []Entry{{FileID: 2, Name: "a", Cookie: 3}, {FileID: 4, Name: "b\xff", Cookie: 5}}}
		if plus {
			want.Entries[1].Attr, want.Entries[1].Handle = &fullAttr, "handle"
		}
		d := xdr.NewDecoder(want.Append(nil, &fullAttr, plus))
		if got := ParseListing(d, plus); !reflect.DeepEqual(got, want) || d.Err() != nil || d.Len() != 0 {
			t.Errorf("%+v, %v", got, d.Err())
		}
	}
	m := MountResult{"handle", []uint32{FlavorSys, FlavorNone}}
	if got := ParseMount(xdr.NewDecoder(m.Append(nil))); !reflect.DeepEqual(got, m) {
		t.Errorf("%+v", got)
	}
	paths := []string{"/a", "/b c"}
	if got := ParseExports(xdr.NewDecoder(AppendExports(nil, paths))); !reflect.DeepEqual(got, paths) {
		t.Errorf("%q", got)
	}
	b := xdr.AppendOpaque(xdr.AppendBool(xdr.AppendUint32(AppendOptAttr(nil, &fullAttr), 3), true), "abc")
	if got := ParseData(xdr.NewDecoder(b), 3); string(got.Bytes) != "abc" || !got.EOF {
		t.Errorf("%+v", got)
	}
	d = xdr.NewDecoder(b)
	if ParseData(d, 2); !errors.Is(d.Err(), xdr.ErrMalformed) {
		t.Errorf("more than requested: %v", d.Err())
	}
}

func TestModesAndTimes(t *testing.T) {
	t.Parallel()
	for typ, want := range map[int]string{
		TypeRegular: "-rw-r--r--", TypeDir: "drw-r--r--", TypeLink: "Lrw-r--r--", TypeFIFO: "prw-r--r--", 9: "?rw-r--r--",
	} {
		if got := (Attr{Type: typ, Mode: 0o644}).FileMode().String(); got != want {
			t.Errorf("%d: %s, want %s", typ, got, want)
		}
	}
	if got := fullAttr.FileMode(); got != fs.ModeDir|fs.ModeSticky|0o755 {
		t.Error(got)
	}
	now := time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC)
	if got := TimeOf(now).Time(); !got.Equal(now) {
		t.Error(got)
	}
}

// FuzzResults checks that any input either parses or fails with the documented errors.
func FuzzResults(f *testing.F) {
	f.Add([]byte(record(f, AppendReply(nil, 7, func(b []byte) []byte {
		return Listing{Entries: []Entry{{Name: "a", Attr: &fullAttr, Handle: "h"}}}.Append(b, &fullAttr, true)
	}))))
	f.Add(record(f, AppendDenied(nil, 7, AuthTooWeak)))
	f.Add(record(f, AppendReply(nil, 7, func(b []byte) []byte { return AppendExports(b, []string{"/a"}) })))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func(*xdr.Decoder){
			func(d *xdr.Decoder) { ParseLookup(d) }, func(d *xdr.Decoder) { ParseLink(d) }, func(d *xdr.Decoder) { ParseData(d, 64) },
			func(d *xdr.Decoder) { ParseMount(d) }, func(d *xdr.Decoder) { ParseExports(d) }, func(d *xdr.Decoder) { ParseListing(d, false) },
			func(d *xdr.Decoder) {
				l := ParseListing(d, true)
				if d.Err() != nil {
					return
				}
				again := xdr.NewDecoder(l.Append(nil, nil, true))
				if got := ParseListing(again, true); !reflect.DeepEqual(got, l) {
					t.Errorf("%+v, and again %+v", l, got)
				}
			},
		} {
			_, results, err := ParseReply(b)
			if err != nil {
				var r *Rejection
				if !errors.Is(err, xdr.ErrMalformed) && !errors.As(err, &r) {
					t.Error(err)
				}
				return
			}
			if parse(results); results.Err() != nil && !errors.Is(results.Err(), xdr.ErrMalformed) {
				t.Error(results.Err())
			}
		}
		if c, err := ParseCall(b); err == nil {
			c.Args.Opaque(MaxName)
		}
	})
}
