package fetch

import (
	"errors"
	"fmt"
	"net/textproto"
	"strings"
)

// checkBody refuses a method or a body where they mean nothing.
func (s Scheme) checkBody(req *Request) error {
	switch {
	case !req.Sends():
		return nil
	case req.Op != OpGet:
		return &Error{Code: ErrRequest, Err: fmt.Errorf("%s has no method and sends no content", req.Op)}
	case !s.Bodies && req.hasBody():
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

// Sends reports whether r does more than to ask: it has a body, or another method than GET.
func (r *Request) Sends() bool {
	return r.hasBody() || r.Method != "" && r.Method != "GET"
}

func (r *Request) hasBody() bool { return r.Body != nil || r.GetBody != nil }

func (r *Request) closeBody() {
	if r.Body != nil {
		r.Body.Close()
	}
}

// resend makes r, which was made by redirected, what resp asks for: the same again, or a GET.
func (r *Request) resend(resp *Response) error {
	if !r.Sends() {
		return nil
	}
	hasBody := r.hasBody()
	r.Body = nil // it is used up
	switch {
	case !resp.Resend:
		r.Method, r.GetBody, r.ContentLength = "", nil, 0
		r.Header = withoutContent(r.Header)
		return nil
	case hasBody && r.GetBody == nil:
		return &Error{Code: ErrRedirect, Err: errors.New("the server wants the content once more, which can be sent but once")}
	case hasBody && r.From.Scheme() == "https" && r.URL.Scheme() != "https":
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
