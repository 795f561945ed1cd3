package http_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

func base64Of(algorithm string, content []byte) string {
	h := fetch.NewHash(algorithm)
	h.Write(content)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func hexOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// statements lists header fields with a digest of content.
var statements = map[string]func(content []byte) (name, value string){
	"Repr-Digest":    func(b []byte) (string, string) { return "Repr-Digest", "sha-256=:" + base64Of("sha-256", b) + ":" },
	"Content-Digest": func(b []byte) (string, string) { return "Content-Digest", "sha-512=:" + base64Of("sha-512", b) + ":" },
	"several algorithms": func(b []byte) (string, string) {
		return "Repr-Digest", "unixsum=:AAA=:, md5=:" + base64Of("md5", b) + ":, sha=:" + base64Of("sha-1", b) + ":"
	},
	"Digest": func(b []byte) (string, string) {
		return "Digest", "UNIXsum=30637, SHA-256=" + base64Of("sha-256", b) + ",sha=" + base64Of("sha-1", b)
	},
	"Digest of hexadecimal digits": func(b []byte) (string, string) {
		return "Digest", "SHA-256=" + base64.StdEncoding.EncodeToString([]byte(hexOf(b)))
	},
	"Content-MD5": func(b []byte) (string, string) { return "Content-MD5", base64Of("md5", b) },
	"x-goog-hash": func(b []byte) (string, string) { return "x-goog-hash", "crc32c=" + base64Of("crc32c", b) },
	"x-goog-hash 2": func(b []byte) (string, string) {
		return "x-goog-hash", "crc32c=" + base64Of("crc32c", b) + ",md5=" + base64Of("md5", b)
	},
	"sha256":    func(b []byte) (string, string) { return "x-amz-checksum-sha256", base64Of("sha-256", b) },
	"sha1":      func(b []byte) (string, string) { return "x-amz-checksum-sha1", base64Of("sha-1", b) },
	"crc32":     func(b []byte) (string, string) { return "x-amz-checksum-crc32", base64Of("crc32", b) },
	"crc32c":    func(b []byte) (string, string) { return "x-amz-checksum-crc32c", base64Of("crc32c", b) },
	"crc64nvme": func(b []byte) (string, string) { return "x-amz-checksum-crc64nvme", base64Of("crc64nvme", b) },
	"Docker-Content-Digest": func(b []byte) (string, string) {
		return "Docker-Content-Digest", "sha256:" + hexOf(b)
	},
	"X-Linked-Etag": func(b []byte) (string, string) { return "X-Linked-Etag", `"` + hexOf(b) + `"` },
}

func TestStatedDigest(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("all work and no play "), 20000)
	wrong := bytes.Clone(content)
	wrong[len(wrong)-1]++
	c := newClient(t, nil, urlhttp.Options{})
	for name, state := range statements {
		for sent, want := range map[*[]byte]fetch.Code{&content: "", &wrong: fetch.ErrChecksum} {
			for _, length := range []bool{true, false} {
				target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set(state(content))
					if length {
						w.Header().Set("Content-Length", strconv.Itoa(len(*sent)))
					}
					w.Write(*sent)
				})
				resp, err := c.Get(t.Context(), target)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				var got bytes.Buffer
				_, err = io.Copy(&got, resp.Body)
				resp.Body.Close()
				if code := fetch.CodeOf(err); code != want || want == "" && got.Len() != len(content) || want != "" && length && got.Len() == len(content) || len(resp.Digests) == 0 {
					t.Errorf("%s, with a length %v: %d of %d bytes, %v, digests %v, want code %q", name, length, got.Len(), len(content), err, resp.Digests, want)
				}
			}
		}
	}
}

// Digests in an announced trailer are verified over any version, also if the content is coded or a range.
func TestDigestInTrailer(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("all work and no play "), 20000)
	var coded bytes.Buffer
	z := gzip.NewWriter(&coded)
	z.Write(content)
	z.Close()
	for _, scheme := range []string{"http", "https"} {
		for _, name := range []string{"Repr-Digest", "Content-Digest", "several algorithms", "Digest", "Content-MD5"} {
			srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q, body := r.URL.Query(), content
				if q.Has("coded") {
					w.Header().Set("Content-Encoding", "gzip")
					body = coded.Bytes()
				}
				field, value := statements[name](body)
				if q.Has("announced") {
					w.Header().Set("Trailer", field)
				} else {
					field = http.TrailerPrefix + field
				}
				if q.Has("wrong") {
					_, value = statements[name](body[1:])
				}
				if q.Has("part") {
					w.Header().Set("Content-Range", "bytes 0-99/420000")
					w.WriteHeader(http.StatusPartialContent)
					body = body[:100]
				}
				w.(http.Flusher).Flush()
				w.Write(body)
				if !q.Has("missing") {
					w.Header().Set(field, value)
				}
			}), strings.TrimPrefix(scheme, "http"))
			c := newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{Compressed: true})
			for query, want := range map[string]fetch.Code{"announced": "", "announced&wrong": fetch.ErrChecksum, "announced&coded": "", "announced&coded&wrong": fetch.ErrChecksum,
				"announced&missing": "", "wrong": ""} {
				if got, err := drive.Get(t, c, srv.URL+"/?"+query); fetch.CodeOf(err) != want || want == "" && got != string(content) {
					t.Errorf("%s %s, %s: %d bytes, %v; want %q", scheme, name, query, len(got), err, want)
				}
			}
			_, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(srv.URL + "/?announced&part"), Range: fetch.Range{Length: 100}})
			if (name == "Content-Digest") != (fetch.CodeOf(err) == fetch.ErrChecksum) || name != "Content-Digest" && err != nil { // it is that of the range
				t.Errorf("%s %s, part: %v", scheme, name, err)
			}
		}
	}
}

// A caller that reads the announced size, and not up to io.EOF, does not get wrong content either.
func TestWrongContentIsWithheld(t *testing.T) {
	t.Parallel()
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Repr-Digest", "sha-256=:"+base64Of("sha-256", nil)+":")
		w.Header().Set("Content-Length", "7")
		io.WriteString(w, "content")
	})
	resp, err := newClient(t, nil, urlhttp.Options{}).Get(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.ReadFull(resp.Body, make([]byte, 7)); n == 7 || fetch.CodeOf(err) != fetch.ErrChecksum {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestDigestOfRange(t *testing.T) {
	t.Parallel()
	content := []byte("0123456789")
	for name, tt := range map[string]struct {
		field, value string
		want         fetch.Code
	}{
		"Content-Digest covers the range":        {"Content-Digest", "sha-256=:" + base64Of("sha-256", content[2:5]) + ":", ""},
		"a wrong Content-Digest":                 {"Content-Digest", "sha-256=:" + base64Of("sha-256", content) + ":", fetch.ErrChecksum},
		"Repr-Digest covers the whole":           {"Repr-Digest", "sha-256=:" + base64Of("sha-256", content) + ":", ""},
		"Content-MD5 may cover the range":        {"Content-MD5", base64Of("md5", content[2:5]), ""},
		"Content-MD5 may cover the whole":        {"Content-MD5", base64Of("md5", content), ""},
		"a stored checksum may cover either one": {"x-amz-checksum-crc32", base64Of("crc32", content[:1]), ""},
	} {
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(tt.field, tt.value)
			w.Header().Set("Content-Range", "bytes 2-4/10")
			w.WriteHeader(http.StatusPartialContent)
			w.Write(content[2:5])
		})
		_, _, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(target), Range: fetch.Range{Offset: 2, Length: 3}})
		if fetch.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want code %q", name, err, tt.want)
		}
	}
}

func TestDigestOfEncodedContent(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("all work and no play "), 20000)
	coded := encode(t, "gzip", content)
	for name, tt := range map[string]struct {
		fields []string // names and values
		want   fetch.Code
	}{
		"Repr-Digest of the encoded content":    {[]string{"Repr-Digest", "sha-256=:" + base64Of("sha-256", coded) + ":"}, ""},
		"Content-Digest of the encoded content": {[]string{"Content-Digest", "sha-256=:" + base64Of("sha-256", coded) + ":"}, ""},
		"a wrong Repr-Digest":                   {[]string{"Repr-Digest", "sha-256=:" + base64Of("sha-256", content) + ":"}, fetch.ErrChecksum},
		"a wrong Content-MD5":                   {[]string{"Content-MD5", base64Of("md5", content)}, fetch.ErrChecksum},
		"a checksum of the stored object":       {[]string{"x-amz-checksum-sha256", base64Of("sha-256", content)}, ""},
		"a hash of content stored without gzip": {[]string{"x-goog-hash", "md5=" + base64Of("md5", content), "x-goog-stored-content-encoding", "identity"}, ""},
		"a hash of content stored with gzip":    {[]string{"x-goog-hash", "md5=" + base64Of("md5", content), "x-goog-stored-content-encoding", "gzip"}, fetch.ErrChecksum},
	} {
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(tt.fields); i += 2 {
				w.Header().Set(tt.fields[i], tt.fields[i+1])
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(coded)
		})
		_, err := drive.Get(t, newClient(t, nil, urlhttp.Options{Compressed: true}), target)
		if fetch.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want code %q", name, err, tt.want)
		}
	}
	// A file that is stored compressed and not decoded.
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Repr-Digest", "sha-256=:"+base64Of("sha-256", coded)+":")
		w.Write(coded)
	})
	if body, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), target); err != nil || body != string(coded) {
		t.Errorf("not decoded: %d bytes, %v", len(body), err)
	}
}

func TestIgnoredDigests(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]string{
		"no structured field":      {"Repr-Digest", "sha-256=:%%:"},
		"not a byte sequence":      {"Repr-Digest", "sha-256=abc"},
		"a wrong length":           {"Repr-Digest", "sha-256=:AAAA:"},
		"an unknown algorithm":     {"Repr-Digest", "sha-1024=:AAAA:"},
		"no base64":                {"Content-MD5", "?"},
		"not a list":               {"Digest", "nonsense"},
		"a composite checksum":     {"x-amz-checksum-crc32c", base64Of("crc32c", []byte("parts")) + "-3"},
		"a composite by its type":  {"x-amz-checksum-crc32c", base64Of("crc32c", []byte("parts")), "x-amz-checksum-type", "COMPOSITE"},
		"a tag that is no SHA-256": {"X-Linked-Etag", `"0123456789012345678901234567890123456789"`},
		"an object stored encoded": {"x-goog-hash", "md5=" + base64Of("md5", []byte("x")), "x-goog-stored-content-encoding", "gzip"},
		"empty":                    {"Docker-Content-Digest", ""},
	} {
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(fields); i += 2 {
				w.Header().Set(fields[i], fields[i+1])
			}
			io.WriteString(w, "content")
		})
		_, resp, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(target)})
		if err != nil || len(resp.Digests) > 0 {
			t.Errorf("%s: digests %v, %v", name, resp.Digests, err)
		}
	}
}

func TestContradictingDigests(t *testing.T) {
	t.Parallel()
	content := []byte("content")
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Repr-Digest", "sha-256=:"+base64Of("sha-256", content)+":")
		w.Header().Set("Digest", "sha-256="+base64Of("sha-256", nil))
		w.Write(content)
	})
	body, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), target)
	if fetch.CodeOf(err) != fetch.ErrChecksum || body != "" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestLinkedDigestOfRedirect(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]fetch.Code{"content": "", "other": fetch.ErrChecksum} {
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/target" {
				io.WriteString(w, sent)
				return
			}
			w.Header().Set("X-Linked-Etag", `"`+hexOf([]byte("content"))+`"`)
			w.Header().Set("Repr-Digest", "sha-256=:"+base64Of("sha-256", nil)+":") // of the redirect
			http.Redirect(w, r, "/target", http.StatusFound)
		})
		if _, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), target); fetch.CodeOf(err) != want {
			t.Errorf("%s: %v, want code %q", sent, err, want)
		}
	}
}

func TestWantDigest(t *testing.T) {
	t.Parallel()
	for _, want := range []bool{false, true} {
		var got string
		target := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Want-Repr-Digest") })
		_, _, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(target), WantDigest: want})
		if err != nil || strings.Contains(got, "sha-256") != want {
			t.Errorf("WantDigest %v: %q, %v", want, got, err)
		}
	}
}

// The check value of CRC-64/NVME is that of the catalogue of CRC algorithms.
func TestDigestAlgorithms(t *testing.T) {
	t.Parallel()
	check := []byte("123456789")
	m, s, s2 := md5.Sum(check), sha1.Sum(check), sha512.Sum512(check)
	for algorithm, want := range map[string]string{
		"crc64nvme": "ae8b14860a799888", "crc32c": "e3069283", "crc32": "cbf43926",
		"md5": hex.EncodeToString(m[:]), "sha-1": hex.EncodeToString(s[:]), "sha-512": hex.EncodeToString(s2[:]),
	} {
		h := fetch.NewHash(algorithm)
		h.Write(check)
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%s: %s, want %s", algorithm, got, want)
		}
	}
}
