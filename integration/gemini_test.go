//go:build integration

package integration

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/gemini"
)

func TestMollyBrown(t *testing.T) {
	s := lab.Start(t, "molly-brown")
	file := filepath.Join(t.TempDir(), "certificates")
	c := fetch.New(nil, gemini.With(gemini.Options{Certificates: file}))
	defer c.Close()
	root := "gemini://localhost:" + s.Port("plain")
	found := make(map[string]fetch.EntryKind)
	for e, err := range c.List(t.Context(), root+"/"+lab.TextDir) { // follows a redirect
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(e.Name, " ")
		if e.Rel == "parent" {
			name = "parent"
		}
		found[name] = e.Kind
	}
	if found["utf8.txt"] != fetch.EntryObject || found["parent"] != fetch.EntryListing || len(found) != 11 {
		t.Errorf("the entries are %v", found)
	}
	resp, err := c.Get(t.Context(), root+"/"+lab.TextDir+"/utf8.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasPrefix(string(got), "café") || resp.Framing != fetch.FramedByProtocol { // the server uses the media types of its system

		t.Errorf("%q, %v, %+v", got, err, resp.Meta)
	}
}
