package s3_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/queue/s3"
)

// A body is stored under its digest.
func Example() {
	bucket := httptest.NewServer(&bucketServer{objects: map[string]object{}}) // an S3 server in this process
	defer bucket.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	credentials := filepath.Join(dir, "credentials")
	if err := os.WriteFile(credentials, []byte("[default]\naws_access_key_id = "+keyID+"\naws_secret_access_key = "+secret+"\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	store, err := s3.Open(ctx, s3.Options{Endpoint: bucket.URL, Bucket: "bucket", Prefix: "poems/", Credentials: credentials, Spool: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	spool, err := store.Begin()
	if err != nil {
		log.Fatal(err)
	}
	defer spool.Discard()
	io.WriteString(spool, "wet\n")
	digest := sha256.Sum256([]byte("wet\n"))
	sum := hex.EncodeToString(digest[:])
	path, err := spool.Commit(ctx, sum)
	if err != nil {
		log.Fatal(err)
	}
	content, err := store.Get(ctx, sum)
	if err != nil {
		log.Fatal(err)
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	fmt.Printf("%s\n%q %v\n", path, text, err)
	// Output:
	// s3://bucket/poems/sha256/e6/e6a34d83c1e10c935c3bc4140a1bafeb0cfbd9619672d0682f191af7d43914a9
	// "wet\n" <nil>
}
