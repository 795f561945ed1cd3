package ldap

import (
	"bytes"
	"io"
	"strings"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"

	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
)

// The server sends the second entry only after the client has read the first one.
func TestEntriesAreNotDelayed(t *testing.T) {
	t.Parallel()
	read := make(chan bool)
	s := servers.Start(t, servers.Config{}, func(conn *servers.Conn) {
		c := conn.NetConn()
		c.Read(make([]byte, 1000))
		next := envelope(1, searchEntry("cn=b"))
		c.Write(append(envelope(1, searchEntry("cn=a")), next[:5]...)) // a partial entry does not delay the first one
		<-read
		c.Write(append(next[5:], envelope(1, searchDone(0))...))
	})
	c := drive.Client(t, nil, Load)
	resp, err := c.Get(t.Context(), "ldap://"+s.Addr+"/dc=x??sub")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	const first = header + "\ndn: cn=a\n"
	got := make([]byte, len(first))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != first {
		t.Errorf("%q, %v", got, err)
	}
	close(read)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "\ndn: cn=b\n" {
		t.Errorf("second entry: %q, %v", rest, err)
	}
}

// Read and WriteTo return the same LDIF, for entries of all sizes.
func TestReadAndWriteTo(t *testing.T) {
	t.Parallel()
	s := start(t, false, func(_ search, send func(op *ber.Packet)) {
		for i := range 40 {
			send(searchEntry("cn=x", "description", strings.Repeat("text ", 8*i), "jpegPhoto", strings.Repeat("\xff", 5000*i)))
		}
		send(searchDone(0))
	})
	c := drive.Client(t, nil, Load)
	var results [2]bytes.Buffer
	for i, copyTo := range []func(io.Writer, io.Reader) (int64, error){
		func(w io.Writer, r io.Reader) (int64, error) { return r.(io.WriterTo).WriteTo(w) },
		func(w io.Writer, r io.Reader) (int64, error) { return io.Copy(w, struct{ io.Reader }{r}) },
	} {
		resp, err := c.Get(t.Context(), s.URL+"/dc=x??sub")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := copyTo(&results[i], resp.Body); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
	}
	if n := bytes.Count(results[0].Bytes(), []byte("\ndn: cn=x\n")); n != 40 || !bytes.Equal(results[0].Bytes(), results[1].Bytes()) {
		t.Errorf("%d entries in %d bytes by WriteTo, %d bytes by Read", n, results[0].Len(), results[1].Len())
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for length := 1; length < 20; length++ {
		for at := range length {
			for c := range 256 {
				b := bytes.Repeat([]byte("x"), length)
				b[at] = byte(c)
				if got, want := isPrintable(b), c >= ' ' && c <= '~'; got != want {
					t.Fatalf("%q: %t, want %t", b, got, want)
				}
			}
		}
	}
}
