//go:build integration

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestSubmitInFrame submits a form in a frame with an opaque origin.
func TestSubmitInFrame(t *testing.T) {
	for _, form := range []string{"<form action=/find>", "<form action=/send method=post>", "<form action=/send method=post enctype=multipart/form-data>"} {
		var hovered atomic.Bool
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			switch r.URL.Path {
			case "/hover.png":
				hovered.Store(true)
				http.NotFound(w, r)
				return
			case "/":
				fmt.Fprint(w, `<style>button:hover { background: url(/hover.png) }</style>`+form+`<input name=fruit value="Äpfel &amp; pears"><button style="position: fixed; left: 0; top: 0; width: 200px; height: 100px">Send</button>`)
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
		// There is no event when a frame becomes clickable. Then the button notices the mouse and requests an
		// image. One click follows, because another one could submit the form twice.
		for begin := time.Now(); !hovered.Load(); {
			if time.Since(begin) > actionTimeout {
				t.Fatal("the button does not notice the mouse")
			}
			b.run(chromedp.MouseEvent(chromedp.MouseMoved, at[0]+1, at[1]), chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1]), chromedp.Sleep(20*time.Millisecond))
		}
		b.run(chromedp.MouseClickXY(at[0], at[1]))
		b.until(`!window.before && document.readyState === "complete"`)
		b.shows(": Äpfel & pears")
		if form != "<form action=/find>" {
			b.shows("POST /send")
			b.loaded(chromedp.Evaluate[chromedp.Void](`location.reload()`))
			b.shows("The form was already sent")
		}
	}
}
