package fetch

import (
	"errors"
	"net/textproto"
	"strings"
)

func checkBody(s Scheme, req *Request) error {
	switch {
	case !req.Sends():
		return nil
	case req.Op != OpGet:
		return ErrRequest.Errorf("%s requests have no method and no body", req.Op)
	case !s.Bodies && hasBody(req):
		return ErrRequest.Errorf("cannot send a body to %s URLs: %w", s.Name, errors.ErrUnsupported)
	case !s.Bodies:
		return ErrRequest.Errorf("%s does not support method %s: %w", s.Name, Printable(req.Method),
			errors.ErrUnsupported)
	}
	return nil
}

// withBody returns p with the body that GetBody returns, if Body is not set.
func (p *preparedRequest) withBody() (*preparedRequest, error) {
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

// resend prepares r, a redirected request, for the same method and body, or for a GET without a
// body, as resp demands.
func resend(r *Request, resp *Response) error {
	if !r.Sends() {
		return nil
	}
	withBody := hasBody(r)
	r.Body = nil // already sent
	switch {
	case !resp.Resend:
		r.Method, r.GetBody, r.ContentLength = "", nil, 0
		r.Header = withoutContent(r.Header)
		return nil
	case withBody && r.GetBody == nil:
		return ErrRedirect.Errorf("the server requires the body again, which can be sent only once")
	case withBody && r.From.IsSecure() && !r.URL.IsSecure():
		return refusal(Reason{}, "%s redirects the body to a URL without TLS", r.From.Redacted())
	}
	return nil
}

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
