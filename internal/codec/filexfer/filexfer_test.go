package filexfer

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"testing"
)

func alloc(n int) []byte { return make([]byte, n) }

func TestMessageRoundTrip(t *testing.T) {
	t.Parallel()
	full := Attrs{Flags: AttrSize | AttrUIDGID | AttrPermissions | AttrACModTime, Size: 1 << 40, UID: 1, GID: 2, Mode: ModeRegular | 0o4755, ATime: 3, MTime: 4}
	b := Append(nil, TypeName, 7, uint32(2), "a", "long a", full, []byte("b"), "", Attrs{})
	b = Append(b, TypeRead, 8, "handle", uint64(1<<33), uint32(5))
	r := bytes.NewReader(b)
	m, err := Read(r, alloc)
	if err != nil || m.Type != TypeName || m.ID != 7 {
		t.Fatalf("%+v, %v", m, err)
	}
	f := m.Fields()
	want := []File{{"a", "long a", full}, {"b", "", Attrs{}}}
	if got := f.Files(); !reflect.DeepEqual(got, want) || f.Err() != nil || f.More() {
		t.Errorf("%+v, %v", got, f.Err())
	}
	if m, err = Read(r, alloc); err != nil || m.Type != TypeRead {
		t.Fatalf("%+v, %v", m, err)
	}
	f = m.Fields()
	if h, off, n := f.Text(), f.Uint64(), f.Uint32(); h != "handle" || off != 1<<33 || n != 5 || f.Err() != nil {
		t.Errorf("%q %d %d %v", h, off, n, f.Err())
	}
	if _, err := Read(r, alloc); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestExtendedAttributesAreSkipped(t *testing.T) {
	t.Parallel()
	b := Append(nil, TypeAttrs, 1, attrExtended|AttrPermissions, uint32(ModeDir), uint32(1), "name", "value", "rest")
	m, err := Read(bytes.NewReader(b), alloc)
	if err != nil {
		t.Fatal(err)
	}
	f := m.Fields()
	if a := f.Attrs(); a.FileMode() != fs.ModeDir || f.Text() != "rest" || f.Err() != nil {
		t.Errorf("%+v, %v", a, f.Err())
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"too short":  {0, 0, 0, 4, 1, 0, 0, 0},
		"too long":   {0, 4, 0, 1, 1, 0, 0, 0, 0},
		"other text": []byte("HTTP/1.1 200 OK\r\n"),
	} {
		if _, err := Read(bytes.NewReader(b), alloc); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	whole := Append(nil, TypeData, 1, "content")
	for n := 1; n < len(whole); n++ {
		if _, err := Read(bytes.NewReader(whole[:n]), alloc); err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: error %v", n, err)
		}
	}
}

func TestFileMode(t *testing.T) {
	t.Parallel()
	for mode, want := range map[uint32]string{
		0o100644: "-rw-r--r--", 0o040755: "drwxr-xr-x", 0o120777: "Lrwxrwxrwx", 0o010600: "prw-------", 0o140777: "Srwxrwxrwx",
		0o020666: "Dcrw-rw-rw-", 0o060660: "Drw-rw----", 0o104755: "urwxr-xr-x", 0o041777: "dtrwxrwxrwx", 0o644: "?rw-r--r--",
	} {
		if got := (Attrs{Mode: mode}).FileMode().String(); got != want {
			t.Errorf("%o: %s, want %s", mode, got, want)
		}
	}
}

func FuzzFields(f *testing.F) {
	f.Add(Append(nil, TypeName, 7, uint32(1), "a", "long a", Attrs{Flags: AttrSize, Size: 1}))
	f.Add(Append(nil, TypeAttrs, 1, attrExtended, uint32(1), "name", "value"))
	f.Add(Append(nil, TypeStatus, 1, uint32(2), "No such file", "en"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Read(bytes.NewReader(b), alloc)
		if err != nil {
			return
		}
		fields := m.Fields()
		files := fields.Files()
		if fields.Err() != nil {
			if files != nil || !errors.Is(fields.Err(), ErrMalformed) {
				t.Errorf("%v with %v", files, fields.Err())
			}
			return
		}
		again := []any{uint32(len(files))}
		for _, file := range files {
			again = append(again, file.Name, file.Long, file.Attrs)
		}
		m2, err := Read(bytes.NewReader(Append(nil, m.Type, m.ID, again...)), alloc)
		if err != nil {
			t.Fatal(err)
		}
		if got := m2.Fields().Files(); !reflect.DeepEqual(got, files) {
			t.Errorf("%+v, and again %+v", files, got)
		}
	})
}
