// Package s3 stores the bodies of a queue in a bucket of an S3-compatible store.
package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
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
	"github.com/urlget/urlget/queue/internal/artefact"
)

// Options configure a Store.
type Options struct {
	// Endpoint is the http or https URL of the store, without a path. The default is Amazon's.
	Endpoint string
	Bucket   string
	Prefix   string // prefix of all object names, such as "crawl/"
	Region   string // default us-east-1, or the region that the store reports for the bucket

	// Credentials is the name of a credentials file of the AWS command line; the profile is
	// $AWS_PROFILE or "default". If it is empty, the variables AWS_ACCESS_KEY_ID,
	// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN are used.
	Credentials string
	TLS         *tls.Config // nil means the defaults

	// Spool is the directory for bodies that are being received. The default is the system's
	// directory for temporary files.
	Spool string
}

// A Store is a queue.Store in a bucket. The body with digest abcd… is the object sha256/ab/abcd…
// below the prefix.
type Store struct {
	opts      Options
	client    *minio.Client
	transport *http.Transport
}

const (
	defaultEndpoint = "https://s3.amazonaws.com"
	// tries is the number of attempts of a request. After that, the queue retries the job.
	tries = 3
	// maxConcurrentParts is the number of concurrent part uploads. Parts are read from the file and
	// not held in memory.
	maxConcurrentParts = 2
	connect            = 30 * time.Second
	responseTimeout    = time.Minute
)

// Open opens the store in an existing bucket. Errors are *fetch.Errors and contain no secrets.
func Open(ctx context.Context, opts Options) (*Store, error) {
	u, err := url.Parse(opts.Endpoint)
	if opts.Endpoint == "" {
		u, err = url.Parse(defaultEndpoint)
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, &fetch.Error{Code: fetch.ErrRequest,
			Err: errors.New("the store endpoint must be a URL such as https://HOST:PORT, without a login " +
				"or path")}
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
		return nil, &fetch.Error{Code: fetch.ErrAuth,
			Err: errors.New("no credentials for the store: " + where)}
	}
	s := &Store{opts: opts, transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout:   connect,
		ResponseHeaderTimeout: responseTimeout, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 16,
		TLSClientConfig: opts.TLS, DisableCompression: true,
	}}
	s.client, err = minio.New(u.Host,
		&minio.Options{Creds: creds, Secure: u.Scheme == "https", Region: opts.Region, Transport: s.transport,
			MaxRetries: tries})
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: err}
	}
	ok, err := s.client.BucketExists(ctx, opts.Bucket)
	if err == nil && !ok {
		err = &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New("no such bucket")}
	}
	if err != nil {
		s.Close()
		return nil, s.explain(err)
	}
	return s, nil
}

// Close closes idle connections.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

func (s *Store) explain(err error) error {
	var own *fetch.Error
	if err == nil || errors.As(err, &own) && own.URL != "" {
		return err
	}
	e := &fetch.Error{URL: s.url(""), Code: fetch.ErrServer, Retry: true, Err: err}
	var response minio.ErrorResponse
	var network net.Error
	switch {
	case own != nil:
		e.Code, e.Retry, e.Err = own.Code, false, own.Err
	case errors.Is(err, context.Canceled):
		e.Code = fetch.ErrInterrupted
	case errors.As(err, &response):
		e.Err = errors.New(fetch.Printable(strings.TrimSpace(response.Code + " " + response.Message)))
		switch {
		case response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusUnauthorized:
			e.Code, e.Retry = fetch.ErrAuth, false
		case response.StatusCode == http.StatusNotFound:
			e.Code, e.Retry = fetch.ErrNotFound, false
		}
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Code = fetch.ErrNetwork
	}
	return e
}

func (s *Store) url(name string) string { return "s3://" + s.opts.Bucket + "/" + name }

func (s *Store) name(sum string) string { return path.Join(s.opts.Prefix, artefact.Path(sum)) }

// Begin implements queue.Store.
func (s *Store) Begin() (queue.Spool, error) { return artefact.NewSpool(s.opts.Spool, s.upload) }

// Get implements queue.Store.
func (s *Store) Get(ctx context.Context, sum string) (io.ReadCloser, error) {
	if err := artefact.Check(sum); err != nil {
		return nil, err
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
	return artefact.Verify(o, sum), nil
}

// List implements queue.Lister.
func (s *Store) List(ctx context.Context) iter.Seq2[queue.Content, error] {
	return func(yield func(queue.Content, error) bool) {
		above := path.Join(s.opts.Prefix, artefact.BodyDir)
		for o := range s.client.ListObjectsIter(ctx, s.opts.Bucket,
			minio.ListObjectsOptions{Prefix: above + "/", Recursive: true}) {
			if o.Err != nil {
				yield(queue.Content{}, s.explain(o.Err))
				return
			}
			sum, ok := artefact.Sum(path.Join(artefact.BodyDir, strings.TrimPrefix(o.Key, above)))
			if ok && !yield(queue.Content{SHA256: sum, Size: o.Size, Time: o.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(queue.Content{}, s.explain(err))
		}
	}
}

// Remove implements queue.Lister.
func (s *Store) Remove(ctx context.Context, sum string) error {
	if err := artefact.Check(sum); err != nil {
		return err
	}
	return s.explain(s.client.RemoveObject(ctx, s.opts.Bucket, s.name(sum), minio.RemoveObjectOptions{}))
}

func (s *Store) holds(ctx context.Context, sum string) (bool, error) {
	r, err := s.Get(ctx, sum)
	if err != nil {
		return false, err
	}
	stored, err := artefact.Holds(r)
	return stored, s.explain(err)
}

// upload uploads a body. The store shows an object only when it is complete.
func (s *Store) upload(ctx context.Context, f *os.File, sum string) (string, error) {
	ctx, cancel := context.WithCancel(ctx) // stops goroutines that the client leaves after a failure
	defer cancel()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	name := s.name(sum)
	stored, err := s.client.StatObject(ctx, s.opts.Bucket, name, minio.StatObjectOptions{})
	switch {
	case err == nil && stored.Size == info.Size(): // others may have replaced it
		if stored, err := s.holds(ctx, sum); stored || err != nil {
			return s.url(name), err
		}
	case err != nil && minio.ToErrorResponse(err).StatusCode != http.StatusNotFound:
		return "", s.explain(err)
	}
	put, err := s.client.PutObject(ctx, s.opts.Bucket, name, f, info.Size(),
		minio.PutObjectOptions{ContentType: "application/octet-stream", NumThreads: maxConcurrentParts})
	if err == nil && put.Size != info.Size() {
		err = fmt.Errorf("the store received %d of %d bytes", put.Size, info.Size())
	}
	if err != nil {
		return "", s.explain(err)
	}
	return s.url(name), nil
}
