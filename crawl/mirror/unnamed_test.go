package mirror_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMembersThatCannotBeRetrievedAreFailures mirrors directories with a member that has no URL. The rest is
// saved, but the run fails, and nothing is deleted, because the tree is not whole.
func TestMembersThatCannotBeRetrievedAreFailures(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{
		"a refused member": `<D:href>/b</D:href><D:status>HTTP/1.1 403 Forbidden</D:status>`,
		"not a URL":        `<D:href>http://[</D:href><D:propstat><D:prop/><D:status>HTTP/1.1 200 OK</D:status></D:propstat>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := ""
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != "PROPFIND" {
					io.WriteString(w, "content")
					return
				}
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(http.StatusMultiStatus)
				file := func(href string) string {
					return `<D:response><D:href>` + href + `</D:href><D:propstat><D:prop/><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`
				}
				text := `<D:multistatus xmlns:D="DAV:">` + strings.Replace(file("/"), "<D:prop/>",
					"<D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop>", 1) + file("/a")
				if member == "" {
					text += file("/b")
				} else {
					text += `<D:response>` + member + `</D:response>`
				}
				fmt.Fprint(w, text+`</D:multistatus>`)
			}))
			t.Cleanup(site.Close)
			url := "dav" + strings.TrimPrefix(site.URL, "http") + "/"
			dir, opts := t.TempDir(), noHost()
			opts.Delete = true
			if _, r := run(t, dir, url, opts); r.Failed != 0 || r.Saved != 2 {
				t.Fatalf("a whole tree: %+v", r)
			}
			if err := os.Remove(filepath.Join(dir, "a")); err != nil {
				t.Fatal(err)
			}
			member = broken
			events, r := run(t, dir, url, opts)
			if r.Failed != 1 || r.Saved != 1 || r.Deleted != 0 || !slices.Contains(events, "failed not_retrievable /") {
				t.Errorf("%q, %+v", events, r)
			}
			compare(t, "files", files(t, dir), map[string]string{"a": "content", "b": "content"})
		})
	}
}
