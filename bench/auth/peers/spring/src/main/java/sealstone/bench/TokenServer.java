package sealstone.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.SecurityContext;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.server.authorization.OAuth2Authorization;
import org.springframework.security.oauth2.server.authorization.OAuth2AuthorizationService;
import org.springframework.security.oauth2.server.authorization.OAuth2TokenType;
import org.springframework.security.oauth2.server.authorization.client.InMemoryRegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.settings.TokenSettings;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;

/** Spring Authorization Server: client_credentials with ES256 access tokens, and introspection. */
@SpringBootApplication
public class TokenServer {
    public static void main(String[] arguments) {
        SpringApplication.run(TokenServer.class, arguments);
    }

    @Bean
    RegisteredClientRepository clients(PasswordEncoder encoder) {
        return new InMemoryRegisteredClientRepository(RegisteredClient.withId("bench")
            .clientId("bench")
            .clientSecret(encoder.encode("bench-secret-0123456789-0123456789"))
            .clientAuthenticationMethod(ClientAuthenticationMethod.CLIENT_SECRET_BASIC)
            .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
            .scope("api:read")
            .tokenSettings(TokenSettings.builder().accessTokenTimeToLive(Duration.ofMinutes(15)).build())
            .build());
    }

    @Bean
    JWKSource<SecurityContext> keys() throws JOSEException {
        var key = new ECKeyGenerator(Curve.P_256).keyID("bench-es256").keyUse(KeyUse.SIGNATURE);
        return new ImmutableJWKSet<>(new JWKSet(key.algorithm(JWSAlgorithm.ES256).generate()));
    }

    /** The default is RS256, for which there is no key. */
    @Bean
    OAuth2TokenCustomizer<JwtEncodingContext> algorithm() {
        return context -> context.getJwsHeader().algorithm(SignatureAlgorithm.ES256);
    }

    /** Of a random secret SHA-256 is enough; stock, every request would cost a bcrypt. */
    @Bean
    PasswordEncoder secrets() {
        return new PasswordEncoder() {
            @Override
            public String encode(CharSequence secret) {
                try {
                    var digest = MessageDigest.getInstance("SHA-256").digest(secret.toString().getBytes(UTF_8));
                    return HexFormat.of().formatHex(digest);
                } catch (NoSuchAlgorithmException impossible) {
                    throw new IllegalStateException(impossible);
                }
            }

            @Override
            public boolean matches(CharSequence secret, String known) {
                return MessageDigest.isEqual(encode(secret).getBytes(US_ASCII), known.getBytes(US_ASCII));
            }
        };
    }

    /** The newest thousand tokens. The stock service keeps every one, and searches through all of them. */
    @Bean
    OAuth2AuthorizationService authorizations() {
        return new Newest();
    }

    private static final class Newest implements OAuth2AuthorizationService {
        private final Map<String, OAuth2Authorization> byToken = new LinkedHashMap<>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, OAuth2Authorization> eldest) {
                return size() > 1000;
            }
        };

        @Override
        public synchronized void save(OAuth2Authorization authorization) {
            byToken.put(token(authorization), authorization);
        }

        @Override
        public synchronized void remove(OAuth2Authorization authorization) {
            byToken.remove(token(authorization));
        }

        @Override
        public OAuth2Authorization findById(String id) {
            return null;
        }

        @Override
        public synchronized OAuth2Authorization findByToken(String token, OAuth2TokenType type) {
            return byToken.get(token);
        }

        private static String token(OAuth2Authorization authorization) {
            return authorization.getAccessToken().getToken().getTokenValue();
        }
    }
}
