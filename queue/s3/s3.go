// Package s3 keeps the contents of a queue in a bucket of an S3-compatible store.
package s3

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

// Options say which bucket, and who asks.
type Options struct {
	// Endpoint is the URL of the store, http or https, without a path; "" means Amazon's.
	Endpoint string
	Bucket   string
	Prefix   string // of all names, such as "crawl/"
	Region   string // "" means us-east-1, or that of the bucket where the store tells it

	// Credentials is the name of a file as the AWS command line has it; the profile is
	// $AWS_PROFILE or "default". "" means the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
	// and AWS_SESSION_TOKEN.
	Credentials string
	TLS         *tls.Config // nil means the defaults

	// Spool is the directory in which contents are while they come; "" means that of the system for
	// temporary files.
	Spool string
}

// A Store is a queue.Store in a bucket: the content with digest abcd… is the object
// sha256/ab/abcd… below the prefix.
type Store struct {
	opts      Options
	client    *minio.Client
	transport *http.Transport
}

const (
	defaultEndpoint = "https://s3.amazonaws.com"
	// tries is how often a request is made that fails for now. The queue tries again later.
	tries = 3
	// partsAtOnce is how many parts of a large object are sent at once. They are read from the file:
	// none is in memory.
	partsAtOnce = 2
	connect     = 30 * time.Second
	answer      = time.Minute // until a request that was sent is answered
)

// Open returns the store in a bucket, which must be there. Errors are *fetch.Errors and hold no
// secrets.
func Open(ctx context.Context, opts Options) (*Store, error) {
	u, err := url.Parse(opts.Endpoint)
	if opts.Endpoint == "" {
		u, err = url.Parse(defaultEndpoint)
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: errors.New("the endpoint of the store is no URL such as https://HOST:PORT, without a login and a path")}
	}
	creds := credentials.NewEnvAWS()
	if opts.Credentials != "" {
		if _, err := os.Stat(opts.Credentials); err != nil {
			return nil, &fetch.Error{Code: fetch.ErrFile, Err: err}
		}
		creds = credentials.NewFileAWSCredentials(opts.Credentials, "")
	}
	if v, err := creds.GetWithContext(nil); err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		where := "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"
		if opts.Credentials != "" {
			where = opts.Credentials + " has none for this profile"
		}
		return nil, &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("no credentials for the store: " + where)}
	}
	s := &Store{opts: opts, transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connect}).DialContext, TLSHandshakeTimeout: connect,
		ResponseHeaderTimeout: answer, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 16, TLSClientConfig: opts.TLS, DisableCompression: true,
	}}
	s.client, err = minio.New(u.Host, &minio.Options{Creds: creds, Secure: u.Scheme == "https", Region: opts.Region, Transport: s.transport, MaxRetries: tries})
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: err}
	}
	ok, err := s.client.BucketExists(ctx, opts.Bucket)
	if err == nil && !ok {
		err = &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New("there is no such bucket")}
	}
	if err != nil {
		s.Close()
		return nil, s.explain(err)
	}
	return s, nil
}

// Close ends idle connections.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// explain says what an error means, in one line.
func (s *Store) explain(err error) error {
	var own *fetch.Error
	if err == nil || errors.As(err, &own) && own.URL != "" {
		return err
	}
	e := &fetch.Error{URL: s.url(""), Code: fetch.ErrServer, Retry: true, Err: err}
	var told minio.ErrorResponse
	var network net.Error
	switch {
	case own != nil:
		e.Code, e.Retry, e.Err = own.Code, false, own.Err
	case errors.Is(err, context.Canceled):
		e.Code = fetch.ErrInterrupted
	case errors.As(err, &told):
		e.Err = errors.New(fetch.Printable(strings.TrimSpace(told.Code + " " + told.Message)))
		switch {
		case told.StatusCode == http.StatusForbidden || told.StatusCode == http.StatusUnauthorized:
			e.Code, e.Retry = fetch.ErrAuth, false
		case told.StatusCode == http.StatusNotFound:
			e.Code, e.Retry = fetch.ErrNotFound, false
		}
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Code = fetch.ErrNetwork
	}
	return e
}

func (s *Store) url(name string) string { return "s3://" + s.opts.Bucket + "/" + name }

func (s *Store) name(sum string) string { return path.Join(s.opts.Prefix, queue.ArtefactPath(sum)) }

// Begin implements queue.Store.
func (s *Store) Begin() (queue.Spool, error) {
	f, err := os.CreateTemp(s.opts.Spool, "urlget-")
	if err != nil {
		return nil, err
	}
	return &spool{File: f, store: s}, nil
}

// Get returns the content with a digest. Reading it fails at its end if it does not have the digest.
// The caller closes it.
func (s *Store) Get(ctx context.Context, sum string) (io.ReadCloser, error) {
	if !isDigest(sum) {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("%q is no SHA-256 digest", sum)}
	}
	o, err := s.client.GetObject(ctx, s.opts.Bucket, s.name(sum), minio.GetObjectOptions{})
	if err == nil {
		if _, err = o.Stat(); err != nil {
			o.Close()
		}
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return queue.Verify(o, sum), nil
}

// holds reports whether the object of a content, which is there, has its digest.
func (s *Store) holds(ctx context.Context, sum string) (bool, error) {
	r, err := s.Get(ctx, sum)
	if err != nil {
		return false, err
	}
	held, err := queue.Holds(r)
	return held, s.explain(err)
}

func isDigest(sum string) bool {
	_, err := hex.DecodeString(sum)
	return err == nil && len(sum) == 64
}

type spool struct {
	*os.File
	store *Store
	over  bool
}

// Reader implements queue.Spool.
func (p *spool) Reader() (io.Reader, error) {
	_, err := p.Seek(0, io.SeekStart)
	return struct{ io.Reader }{p.File}, err
}

// Discard implements queue.Spool.
func (p *spool) Discard() {
	if !p.over {
		p.over = true
		p.Close()
		os.Remove(p.Name()) // what cannot be removed is only in the way
	}
}

// Commit implements queue.Spool. The store shows an object only when all of it is there.
func (p *spool) Commit(ctx context.Context, sum string) (string, error) {
	defer p.Discard()
	if !isDigest(sum) {
		return "", fmt.Errorf("%q is no digest", sum)
	}
	ctx, cancel := context.WithCancel(ctx) // ends what the client leaves behind after a failure
	defer cancel()
	info, err := p.Stat()
	if err != nil {
		return "", err
	}
	s, name := p.store, p.store.name(sum)
	have, err := s.client.StatObject(ctx, s.opts.Bucket, name, minio.StatObjectOptions{})
	switch {
	case err == nil && have.Size == info.Size(): // but others may have put something else there
		if held, err := s.holds(ctx, sum); held || err != nil {
			return s.url(name), err
		}
	case err != nil && minio.ToErrorResponse(err).StatusCode != http.StatusNotFound:
		return "", s.explain(err)
	}
	if _, err := p.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	put, err := s.client.PutObject(ctx, s.opts.Bucket, name, p.File, info.Size(),
		minio.PutObjectOptions{ContentType: "application/octet-stream", NumThreads: partsAtOnce})
	if err == nil && put.Size != info.Size() {
		err = fmt.Errorf("the store has %d bytes of %d", put.Size, info.Size())
	}
	if err != nil {
		return "", s.explain(err)
	}
	return s.url(name), nil
}
