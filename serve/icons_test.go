package serve_test

import (
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

func TestIconsShowTheKind(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"d/x": {}, "b.zip": {}, "c.html": {}, "e.png": {}, "f.txt": {}, "g": {}, "h.mp3": {}}
	p := start(t).open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/")
	for _, icon := range []string{"folder", "archive", "page", "image", "text", "file", "audio"} {
		p.want(t, http.StatusOK, "icon icon-"+icon+`"`)
	}
	style := p.find(t, "/static/", "app.css")
	for _, icon := range []string{"folder", "archive", "page", "home", "about"} {
		start(t).get(style).want(t, http.StatusOK, ".icon-"+icon+" {")
	}
}
