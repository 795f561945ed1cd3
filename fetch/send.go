package fetch

import (
	"errors"
	"fmt"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
)

// checkBody refuses a method or a body where they mean nothing.
func checkBody(s Scheme, req *Request) error {
	switch {
	case !req.Sends():
		return nil
	case req.Op != OpGet:
		return &Error{Code: ErrRequest, Err: fmt.Errorf("%s has no method and sends no content", req.Op)}
	case !s.Bodies && hasBody(req):
		return &Error{Code: ErrRequest, Err: fmt.Errorf("nothing can be sent to %s URLs: %w", s.Name, errors.ErrUnsupported)}
	case !s.Bodies:
		return &Error{Code: ErrRequest, Err: fmt.Errorf("%s has no method %s: %w", s.Name, Printable(req.Method), errors.ErrUnsupported)}
	}
	return nil
}

// embodied returns p with a body, if it is to have one that was not opened yet. The caller's own is
// sent once.
func (p *prepared) embodied() (*prepared, error) {
	if p.req.Body != nil || p.req.GetBody == nil {
		return p, nil
	}
	body, err := p.req.GetBody()
	if err != nil {
		return nil, &Error{Code: ErrFile, Err: err}
	}
	q, req := *p, *p.req
	q.req, req.Body = &req, body
	return &q, nil
}

func hasBody(r *Request) bool { return r.Body != nil || r.GetBody != nil }

func closeBody(r *Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// resend makes r, which was made by redirected, what resp asks for: the same again, or a GET.
func resend(r *Request, resp *driver.Response) error {
	if !r.Sends() {
		return nil
	}
	withBody := hasBody(r)
	r.Body = nil // it is used up
	switch {
	case !resp.Resend:
		r.Method, r.GetBody, r.ContentLength = "", nil, 0
		r.Header = withoutContent(r.Header)
		return nil
	case withBody && r.GetBody == nil:
		return &Error{Code: ErrRedirect, Err: errors.New("the server wants the content once more, which can be sent but once")}
	case withBody && r.From.IsSecure() && !r.URL.IsSecure():
		return refusal(Reason{}, "%s wants the content sent on without TLS", r.From.Redacted())
	}
	return nil
}

// withoutContent returns a copy of h without what describes a body.
func withoutContent(h textproto.MIMEHeader) textproto.MIMEHeader {
	var dup textproto.MIMEHeader
	for k, v := range h {
		if strings.HasPrefix(textproto.CanonicalMIMEHeaderKey(k), "Content-") {
			continue
		}
		if dup == nil {
			dup = make(textproto.MIMEHeader, len(h))
		}
		dup[k] = v
	}
	return dup
}
