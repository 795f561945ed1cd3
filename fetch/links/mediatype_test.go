package links

import (
	"maps"
	"mime"
	"testing"
)

func TestMediaTypesAreThoseOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for range 2 { // the second time they are known
		for _, text := range []string{"text/html", "text/html; charset=utf-8", "TEXT/HTML", "text/html;", "text", "", "/",
			"text/", "/html", "a/b/c", "text/html; charset", "image/svg+xml", " text/css", "text/html; charset=utf-8"} {
			name, params, err := parseMediaType(text)
			want, wantParams, wantErr := mime.ParseMediaType(text)
			if name != want || !maps.Equal(params, wantParams) || (err == nil) != (wantErr == nil) {
				t.Errorf("%q: %q, %v, %v, want %q, %v, %v", text, name, params, err, want, wantParams, wantErr)
			}
		}
	}
}
