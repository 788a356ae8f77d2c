// A token server on ory/fosite, the engine of Ory Hydra: client_credentials with ES256 access tokens (JWT), and
// introspection that verifies them. Nothing is stored: each answer follows from the request alone.
//
//	fosite CERTIFICATES PORT
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-jose/go-jose/v3"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
)

const (
	client   = "bench"
	secret   = "bench-secret-0123456789-0123456789"
	scope    = "api:read"
	audience = "urn:bench:api"
	kid      = "bench-es256"
	lifetime = 15 * time.Minute
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: fosite CERTIFICATES PORT")
	}
	folder, address := os.Args[1], "127.0.0.1:"+os.Args[2]
	key, err := signingKey(filepath.Join(folder, "sign.key"))
	if err != nil {
		log.Fatal(err)
	}
	issuer := "https://localhost:" + os.Args[2]
	server := http.Server{
		Addr:      address,
		Handler:   endpoints(newProvider(issuer, key), issuer),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13},
	}
	log.Fatal(server.ListenAndServeTLS(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")))
}

func newProvider(issuer string, key *jose.JSONWebKey) fosite.OAuth2Provider {
	config := &fosite.Config{
		AccessTokenIssuer:   issuer,
		AccessTokenLifespan: lifetime,
		// The stock hash, bcrypt with cost 12, allows five tokens a second on a core.
		ClientSecretsHasher: hasher{},
		// Of opaque tokens, which nobody asks for here.
		GlobalSecret: []byte("0123456789abcdef0123456789abcdef"),
		TokenURL:     issuer + "/token",
	}
	hash, _ := hasher{}.Hash(context.Background(), []byte(secret))
	clients := storage.NewMemoryStore()
	clients.Clients[client] = &fosite.DefaultClient{
		ID: client, Secret: hash, GrantTypes: []string{"client_credentials"},
		Scopes: []string{scope}, Audience: []string{audience},
	}
	getKey := func(context.Context) (interface{}, error) { return key, nil }
	strategy := &compose.CommonStrategy{
		CoreStrategy: compose.NewOAuth2JWTStrategy(getKey, compose.NewOAuth2HMACStrategy(config), config),
		Signer:       &jwt.DefaultSigner{GetPrivateKey: getKey},
	}
	return compose.Compose(config, forgetful{clients}, strategy,
		compose.OAuth2ClientCredentialsGrantFactory, compose.OAuth2StatelessJWTIntrospectionFactory)
}

func endpoints(provider fosite.OAuth2Provider, issuer string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		request, err := provider.NewAccessRequest(ctx, r, newSession(issuer))
		if err != nil {
			provider.WriteAccessError(ctx, w, request, err)
			return
		}
		for _, asked := range request.GetRequestedScopes() {
			request.GrantScope(asked)
		}
		request.GrantAudience(audience)
		response, err := provider.NewAccessResponse(ctx, request)
		if err != nil {
			provider.WriteAccessError(ctx, w, request, err)
			return
		}
		provider.WriteAccessResponse(ctx, w, request, response)
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		response, err := provider.NewIntrospectionRequest(ctx, r, newSession(issuer))
		if err != nil {
			provider.WriteIntrospectionError(ctx, w, err)
			return
		}
		provider.WriteIntrospectionResponse(ctx, w, response)
	})
	return mux
}

// The claims of RFC 9068 as far as fosite does not write them itself.
func newSession(issuer string) fosite.Session {
	return &oauth2.JWTSession{
		JWTClaims: &jwt.JWTClaims{
			Subject: client, Audience: []string{audience}, Issuer: issuer,
			Extra: map[string]interface{}{"client_id": client},
		},
		JWTHeader: &jwt.Headers{Extra: map[string]interface{}{"kid": kid, "typ": "at+jwt"}},
		Subject:   client,
	}
}

// hasher keeps the SHA-256 of secrets that are random.
type hasher struct{}

func (hasher) Hash(_ context.Context, data []byte) ([]byte, error) {
	sum := sha256.Sum256(data)
	return sum[:], nil
}

func (hasher) Compare(_ context.Context, hash, data []byte) error {
	sum := sha256.Sum256(data)
	if subtle.ConstantTimeCompare(hash, sum[:]) != 1 {
		return errors.New("another secret")
	}
	return nil
}

// forgetful knows the client and keeps no token: the stock store keeps each for ever.
type forgetful struct{ *storage.MemoryStore }

func (forgetful) CreateAccessTokenSession(context.Context, string, fosite.Requester) error { return nil }

func signingKey(path string) (*jose.JSONWebKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(path + ": no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New(path + ": no ECDSA key")
	}
	return &jose.JSONWebKey{Key: ec, KeyID: kid, Algorithm: "ES256", Use: "sig"}, nil
}
