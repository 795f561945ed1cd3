package formdata_test

import (
	"fmt"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/formdata"
	"github.com/urlget/urlget/fetch/uri"
)

// This form contains a file. The client opens the body again if a redirect or a login requires it.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "rain.txt")
	if err := os.WriteFile(name, []byte("wet"), 0o600); err != nil {
		log.Fatal(err)
	}
	body, err := formdata.New([]formdata.Part{{Name: "title", Value: "Rain"}, {Name: "poem", File: name}})
	if err != nil {
		log.Fatal(err)
	}
	req := &fetch.Request{URL: uri.MustParse("https://poems.example/new")}
	body.SetBody(req) // now Client.Open can send it

	sent, err := req.GetBody()
	if err != nil {
		log.Fatal(err)
	}
	defer sent.Close()
	_, params, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	for r := multipart.NewReader(sent, params["boundary"]); ; {
		part, err := r.NextPart()
		if err != nil {
			break
		}
		content, _ := io.ReadAll(part)
		fmt.Printf("%s %q %q\n", part.FormName(), part.FileName(), content)
	}
	// Output:
	// title "" "Rain"
	// poem "rain.txt" "wet"
}
