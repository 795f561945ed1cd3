package serve_test

import (
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestDownloadsHaveAName checks the names under which the browser saves files.
func TestDownloadsHaveAName(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if name := r.URL.Query().Get("name"); name != "" {
			w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		}
		io.WriteString(w, "A page.")
	}))
	t.Cleanup(site.Close)
	u := start(t)
	for path, want := range map[string]string{
		"/":                    "index.html",
		"/a%20b.html":          "a b.html",
		"/Obst/%C3%84pfel.txt": "Äpfel.txt",
		"/?name=pear.txt":      "pear.txt",
		"/?name=../../x":       "x",
		"/?name=.bashrc":       "_.bashrc",
		"/?name=a.part":        "a_part",
	} {
		file := u.get(u.open(site.URL+path).find(t, "/download?"))
		disposition, params, err := mime.ParseMediaType(file.header.Get("Content-Disposition"))
		if err != nil || disposition != "attachment" || params["filename"] != want || file.text != "A page." {
			t.Errorf("%s: %s %v %v, want %s", path, disposition, params, err, want)
		}
	}
}

// TestPagesShowTheCommand checks the command that saves the content of a page.
func TestPagesShowTheCommand(t *testing.T) {
	t.Parallel()
	site := web(t, "text/plain", "A text.")
	u := start(t)
	u.open(site.URL+"/pears?a=1&b='$(id)'").want(t, http.StatusOK,
		"<code class=\"copy\">urlget -c &#39;"+site.URL+"/pears?a=1&amp;b=%27$(id)%27&#39;</code>")
	u.open("file://"+t.TempDir()+"/").without(t, "urlget -c")
}
