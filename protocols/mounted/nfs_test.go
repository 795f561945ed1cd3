package mounted

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// FuzzMounts checks that URLs stay below the directories of any mount table.
func FuzzMounts(f *testing.F) {
	f.Add("h:/e /mnt nfs rw,port=1 0 0", "e/x")
	f.Add("h:/ /mnt\\040x nfs4 addr=1.2.3.4 0 0", "../../x")
	f.Add("[::1]:/e// /m nfs ro", "%2e%2e/e/%2e%2e")
	f.Add("h:/ /m\\012n nfs ro", "x")
	f.Add("h:/ /m\x00 nfs ro", "x")
	f.Fuzz(func(t *testing.T, list, name string) {
		mounts, err := parseMounts(strings.NewReader(list))
		u, badURL := uri.Parse("nfs://h/" + name)
		if err != nil || badURL != nil {
			return
		}
		opts := Options{Mounts: filepath.Join(t.TempDir(), "mounts")}
		if err := os.WriteFile(opts.Mounts, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		d := &opener{locate: opts.export}
		file, dir, err := d.file(u)
		if err != nil {
			return
		}
		got, err := uri.ParseFile(file)
		if err != nil || !within(got.Path, path.Clean(dir)) {
			t.Errorf("%q leads to %q, %v, outside of %q", name, got.Path, err, dir)
		}
		for _, m := range mounts {
			if m.dir == dir {
				return
			}
		}
		t.Errorf("%q is no mount", dir)
	})
}
