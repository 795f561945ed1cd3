package http_test

import (
	"net/http"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

func TestOddContentTypes(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, urlhttp.Options{})
	for _, test := range []struct {
		fields []string
		want   string
	}{
		{[]string{"text/html; charset=koi8-r"}, "text/html; charset=koi8-r"},
		{[]string{"text/html, text/html"}, "text/html"},
		{[]string{"text/plain", "text/html"}, "text/html"},
		{[]string{"text/html;charset=gbk, text/html"}, "text/html;charset=gbk"},
		{[]string{"text/html;charset=gbk, text/css"}, "text/css"},
		{[]string{"text/html, */*"}, "text/html"},
		{[]string{"text/html,"}, "text/html"},
		{[]string{"text/html charset=utf-8"}, "text/html; charset=utf-8"},
		{[]string{"text/html ;charset=utf-8"}, "text/html ;charset=utf-8"},
		{[]string{"text/html; charset=utf-8; charset=utf-8"}, "text/html; charset=utf-8; charset=utf-8"},
		{[]string{"html"}, "html"},
		{[]string{""}, ""},
	} {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header()["Content-Type"] = test.fields })
		_, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u)})
		if err != nil || resp.ContentType != test.want {
			t.Errorf("%q: %q, want %q, %v", test.fields, resp.ContentType, test.want, err)
		}
	}
}
