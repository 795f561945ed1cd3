//go:build integration

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestSubmitInFrame submits a form in a frame with an opaque origin.
func TestSubmitInFrame(t *testing.T) {
	for _, form := range []string{"<form action=/find>", "<form action=/send method=post>", "<form action=/send method=post enctype=multipart/form-data>"} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if r.URL.Path == "/" {
				fmt.Fprint(w, form+`<input name=fruit value="Äpfel &amp; pears"><button style="position: fixed; left: 0; top: 0; width: 200px; height: 100px">Send</button>`)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintf(w, "%s %s: %s", r.Method, r.URL.Path, r.FormValue("fruit"))
		}))
		t.Cleanup(web.Close)
		b := newTab(t)
		b.open(web.URL + "/")
		at := eval[[]float64](b, `(() => { const r = document.querySelector("iframe").getBoundingClientRect(); return [r.left + 60, r.top + 50] })()`)
		eval[bool](b, `window.before = true`)
		for begin := time.Now(); time.Since(begin) < actionTimeout; { // there is no event when a frame becomes clickable
			b.run(chromedp.MouseClickXY(at[0], at[1]), chromedp.Sleep(200*time.Millisecond))
			if gone, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`!window.before`)); err == nil && gone {
				break
			}
		}
		b.until(`!window.before && document.readyState === "complete"`)
		b.shows(": Äpfel & pears")
		if form != "<form action=/find>" {
			b.shows("POST /send")
			b.loaded(chromedp.Evaluate[chromedp.Void](`location.reload()`))
			b.shows("The form was already sent")
		}
	}
}
