package ipfs

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
)

// The records are those that boxo v0.43.0 writes: kind of key, state, name, peer ID and record.
func TestRecordsOfBoxo(t *testing.T) {
	t.Parallel()
	s := boxo(t)
	c := drive.Client(t, nil, load(s.url))
	for _, line := range vectors(t, "records.txt") {
		kind, state, text, peer, record := line[0], line[1], line[2], line[3], decode64(t, line[4])
		key, err := parseName(text)
		if other, peerErr := parseName(peer); err != nil && kind != "secp256k1" || peerErr != nil || other != key {
			t.Fatalf("%s: %+v, %v; by its peer ID %+v, %v", text, key, err, other, peerErr)
		}
		s.records[key.key.String()] = record
		for _, host := range []string{text, peer} {
			url := "ipns://" + host + "/timed.txt"
			switch {
			case state == "expired", kind == "secp256k1":
				drive.Fails(t, c, url, fetch.ErrProtocol)
			default:
				drive.Gets(t, c, url, "timed\n")
			}
		}
		for i := range record {
			wrong := bytes.Clone(record)
			wrong[i] ^= 1
			if value, err := readRecord(key.key, wrong, time.Now()); err == nil && !strings.HasPrefix(value, "/ipfs/"+s.root.String()) {
				t.Errorf("%s: the record with another byte %d leads to %q", kind, i, value)
			}
		}
	}
	drive.Fails(t, c, "ipns://k51qzi5uqu5dj6nmkso7n9l5q8ax4pukv2n18bz0ngz6cshmf1p2ufwc2demnf/", fetch.ErrNotFound)
	for _, url := range []string{"ipns://x/", "ipns://bafkqaaa/", "ipns://" + strings.Repeat("k", 600) + "/"} {
		drive.Fails(t, c, url, fetch.ErrURL)
	}
}

// sign returns a record with a value and other fields of the message.
func sign(private ed25519.PrivateKey, data []byte, extra ...byte) []byte {
	b := message(nil, 8, ed25519.Sign(private, append([]byte("ipns-signature:"), data...)))
	return append(message(b, 9, data), extra...)
}

// signedData returns the map of a record.
func signedData(value, end string) []byte {
	text := func(kind byte, s string) string { return string([]byte{kind<<5 | 24, byte(len(s))}) + s }
	return []byte("\xa5" + text(3, "TTL") + "\x00" + text(3, "Value") + text(2, value) + text(3, "Sequence") + "\x00" +
		text(3, "Validity") + text(2, end) + text(3, "ValidityType") + "\x00")
}

const far = "2100-01-01T00:00:00Z"

func TestRecordsAreVerified(t *testing.T) {
	t.Parallel()
	public, private, _ := ed25519.GenerateKey(nil)
	_, other, _ := ed25519.GenerateKey(nil)
	key := cid{codecKey, hashInline, string(message(number(nil, 1, keyEd25519), 2, public))}
	data := signedData("/ipfs/x", far)
	for name, tt := range map[string]struct {
		record []byte
		err    string // "" for a valid record
	}{
		"valid":                 {sign(private, data), ""},
		"with the same fields":  {sign(private, data, message(message(nil, 1, []byte("/ipfs/x")), 4, []byte(far))...), ""},
		"another key":           {sign(other, data), "signature"},
		"version 1 only":        {message(message(nil, 1, []byte("/ipfs/x")), 2, []byte("x")), "version 2"},
		"contradicting value":   {sign(private, data, message(message(nil, 1, []byte("/ipfs/y")), 4, []byte(far))...), "contradicts"},
		"contradicting time":    {sign(private, data, message(message(nil, 1, []byte("/ipfs/x")), 4, []byte("2101"))...), "contradicts"},
		"expired":               {sign(private, signedData("/ipfs/x", "2020-01-01T00:00:00Z")), "expired"},
		"no end":                {sign(private, signedData("/ipfs/x", "")), "end of its validity"},
		"another validity":      {sign(private, bytes.Replace(data, []byte("ValidityType\x00"), []byte("ValidityType\x01"), 1)), "type of validity"},
		"data that is no map":   {sign(private, []byte("\x80")), "malformed"},
		"data that is cut off":  {sign(private, data[:20]), "malformed"},
		"a field twice":         {sign(private, []byte("\xa2\x61a\x00\x61a\x00")), "malformed"},
		"data with a remainder": {sign(private, append(bytes.Clone(data), 0)), "malformed"},
		"nested data":           {sign(private, []byte("\xa1\x61a\x80")), "malformed"},
	} {
		value, err := readRecord(key, tt.record, time.Now())
		switch {
		case tt.err == "" && (err != nil || value != "/ipfs/x"), tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %q, %v, want %q", name, value, err, tt.err)
		}
	}
}

func TestLongRecordsAreRefused(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.lie = func(w http.ResponseWriter, r *http.Request, b []byte) bool { return endless(w, r, b) }
	drive.Fails(t, drive.Client(t, nil, load(s.url)), "ipns://k51qzi5uqu5djggsltl09vmy9jfdkva3fbfaxn77dtm0rkqt17h8wp9k055yom/", fetch.ErrProtocol)
}

func TestDNSLinks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	file := s.addFile([]byte("text\n"))
	file.name = "file"
	dir := s.addNode(typeDirectory, nil, []child{file})
	dir.name = "dir"
	s.root = s.addNode(typeDirectory, nil, []child{dir}).id
	public, private, _ := ed25519.GenerateKey(nil)
	key := cid{codecKey, hashInline, string(message(number(nil, 1, keyEd25519), 2, public))}
	s.records[key.String()] = sign(private, signedData("/ipfs/"+s.root.String()+"/dir", far))
	records := map[string][]string{
		"a.example":    {"other", "dnslink=/ipfs/" + s.root.String()},
		"b.example":    {"dnslink=/ipfs/" + s.root.String() + "/dir/"},
		"c.example":    {"dnslink=/ipns/b.example"},
		"d.example":    {"dnslink=/ipns/" + key.String()},
		"loop.example": {"dnslink=/ipns/loop.example"},
		"none.example": {"other"},
		"bad.example":  {"dnslink=https://a.example/"},
		"rise.example": {"dnslink=/ipfs/" + s.root.String() + "/../x"},
		"cid.example":  {"dnslink=/ipfs/x"},
		"name.example": {"dnslink=/ipns/x"},
		"more.example": {"dnslink=/ipfs/bafybeidkqhk4hdlsl2rk5qxb2nlzzxg4fi3dpmxvvtjxucw4cg3bkmvwla", "dnslink=/ipfs/bafkqaaa"},
	}
	o := &fetch.Options{LookupTXT: func(_ context.Context, name string) ([]string, error) {
		if list, ok := records[strings.TrimSuffix(strings.TrimPrefix(name, "_dnslink."), ".")]; ok {
			return list, nil
		}
		return nil, &net.DNSError{IsNotFound: true}
	}}
	c := drive.Client(t, o, load(s.url))
	for url, want := range map[string]string{
		"ipns://a.example/dir/file": "text\n", "ipns://A.Example/dir/file": "text\n", "ipns://b.example/file": "text\n",
		"ipns://c.example/file": "text\n", "ipns://d.example/file": "text\n", "ipns://more.example": "",
	} {
		drive.Gets(t, c, url, want)
	}
	for url, code := range map[string]fetch.Code{
		"ipns://loop.example/": fetch.ErrProtocol, "ipns://none.example/": fetch.ErrNotFound, "ipns://missing.example/": fetch.ErrNotFound,
		"ipns://bad.example/": fetch.ErrProtocol, "ipns://rise.example/": fetch.ErrProtocol, "ipns://cid.example/": fetch.ErrProtocol,
		"ipns://name.example/": fetch.ErrProtocol,
	} {
		drive.Fails(t, c, url, code)
	}
	entries := drive.MustList(t, c, "ipns://b.example/")
	if len(entries) != 1 || entries[0].URL.String() != "ipns://b.example/file" || entries[0].Size != 5 {
		t.Errorf("%+v", entries)
	}
	for url, step := range map[string]string{"ipns://b.example/file": "TXT records of _dnslink.b.example.", "ipns://" + key.String() + "/": "format=ipns-record"} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(url)})
		if err != nil || !strings.Contains(x.Steps[0], step) {
			t.Errorf("%s: %+v, %v", url, x, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	public, private, _ := ed25519.GenerateKey(bytes.NewReader(make([]byte, 64)))
	key := cid{codecKey, hashInline, string(message(number(nil, 1, keyEd25519), 2, public))}
	valid := sign(private, signedData("/ipfs/x", far))
	f.Add(valid)
	f.Add(message(valid, 7, []byte(key.digest)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if value, err := readRecord(key, b, time.Unix(0, 0)); err == nil && value != "/ipfs/x" {
			t.Errorf("%q", value)
		}
		readMap(b)
	})
}
